"""Envs over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import final

import msgspec
from typing_extensions import override

from holdfast.api.envs import Envs
from holdfast.client.http import Http, path
from holdfast.model import checks
from holdfast.model.envs import Env


@final
class RemoteEnvs(Envs):
    """Operations on envs."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def put(
        self, name: str, *, unsigned_packs: bool = False, trust: Sequence[str] = ()
    ) -> tuple[Env, bool]:
        env = Env(name=name, unsigned_packs=unsigned_packs, trust=tuple(trust))
        body = {"unsigned_packs": env.unsigned_packs, "trust": env.trust}
        reply = await self._http.send("PUT", path("envs", name), body=body)
        return msgspec.json.decode(reply.content, type=Env), reply.created

    @override
    async def get(self, name: str) -> Env:
        reply = await self._http.get(path("envs", checks.name("env", name)))
        return msgspec.convert(reply, Env)

    @override
    async def delete(self, name: str) -> None:
        await self._http.send("DELETE", path("envs", checks.name("env", name)))

    @override
    async def list(self) -> builtins.list[Env]:
        return msgspec.convert((await self._http.get("/v1/envs"))["items"], builtins.list[Env])

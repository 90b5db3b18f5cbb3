"""Envs of a store."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import final

from typing_extensions import override

from holdfast.api import envs
from holdfast.errors import EnvNotFound
from holdfast.model import checks
from holdfast.model.envs import LOCAL, Env
from holdfast.store.store import Store


@final
class Envs(envs.Envs):
    """Operations on envs."""

    def __init__(self, store: Store) -> None:
        self._envs = store.envs

    @override
    async def put(
        self, name: str, *, unsigned_packs: bool = False, trust: Sequence[str] = ()
    ) -> tuple[Env, bool]:
        env = Env(name=name, unsigned_packs=unsigned_packs, trust=tuple(trust))
        created = await self._envs.put(env)
        return await self.get(name), created

    @override
    async def get(self, name: str) -> Env:
        checks.name("env", name)
        for env in await self._envs.list():
            if env.name == name:
                return env
        message = f"no env is called {name}; create it with `holdfast env put {name}`"
        raise EnvNotFound(message, env=name)

    @override
    async def delete(self, name: str) -> None:
        checks.name("env", name)
        if name == LOCAL.name:
            checks.refuse("env", "must be another than local, which always exists", name)
        if not await self._envs.remove(name):
            raise EnvNotFound(f"no env is called {name}", env=name)

    @override
    async def list(self) -> builtins.list[Env]:
        return await self._envs.list()

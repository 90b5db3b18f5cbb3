"""Rollouts over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast.api.rollouts import Rollouts
from holdfast.client.http import Http, Reply, path
from holdfast.model import bounds, checks
from holdfast.model.deployments import DeploymentRef
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.rollouts import NewRollout, Rollout


@final
class RemoteRollouts(Rollouts):
    """Operations on rollouts."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: Whom an operator key acts for.
        self._tenant = http.tenant

    @override
    async def _start(self, new: NewRollout) -> Rollout:
        body = msgspec.to_builtins(new)
        del body["ref"]
        return _rollout(await self._send("POST", new.ref, body=body))

    @override
    async def get(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        return _rollout(await self._send("GET", ref, checks.name("rollout", rollout_id)))

    @override
    async def list(self, ref: DeploymentRef, *, limit: int = 20) -> builtins.list[Rollout]:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        reply = await self._send("GET", ref, query={"limit": limit})
        return msgspec.convert(reply.decode()["items"], builtins.list[Rollout])

    @override
    async def pause(self, ref: DeploymentRef, rollout_id: str, *, reason: str = "") -> Rollout:
        return await self._act(ref, rollout_id, "pause", {"reason": reason})

    @override
    async def resume(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        return await self._act(ref, rollout_id, "continue", {})

    @override
    async def promote(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        return await self._act(ref, rollout_id, "promote", {})

    @override
    async def abort(self, ref: DeploymentRef, rollout_id: str, *, reason: str = "") -> Rollout:
        return await self._act(ref, rollout_id, "abort", {"reason": reason})

    async def _act(self, ref: DeploymentRef, rollout_id: str, verb: str, body: Any) -> Rollout:
        checks.name("rollout", rollout_id)
        return _rollout(await self._send("POST", ref, rollout_id, verb, body=body))

    async def _send(
        self,
        method: str,
        ref: DeploymentRef,
        *parts: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
    ) -> Reply:
        where = path("envs", ref.env, "deployments", ref.id, "rollouts", *parts)
        whose = self._tenant if ref.tenant in {None, DEFAULT_TENANT} else ref.tenant
        return await self._http.send(
            method, where, body=body, query={"tenant": whose, **(query or {})}
        )


def _rollout(reply: Reply) -> Rollout:
    return msgspec.json.decode(reply.content, type=Rollout)

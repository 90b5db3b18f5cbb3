"""Deployments over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast.api.deployments import Deployments
from holdfast.client.http import EVERY_TENANT, Http, Reply, path
from holdfast.errors import NotOverHttp
from holdfast.model import bounds, calls, checks
from holdfast.model.deployments import (
    Deployment,
    DeploymentEvent,
    DeploymentPage,
    DeploymentRef,
    NewDeployment,
    RouteExplanation,
    Split,
    SplitEntry,
    check_entries,
)
from holdfast.model.figures import WINDOW_MS, Figures
from holdfast.model.forecasts import Forecast
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.revisions import Gate, NeedPage, NewRevision, Revision


@final
class RemoteDeployments(Deployments):
    """Operations on deployments."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: Whom an operator key acts for.
        self._tenant = http.tenant

    @override
    async def create(self, new: NewDeployment) -> tuple[Deployment, bool]:
        body = msgspec.to_builtins(checks.instance("deployment", new, NewDeployment))
        env = body.pop("env")
        body["tenant"] = self._tenant if new.tenant == DEFAULT_TENANT else new.tenant
        reply = await self._http.send("POST", path("envs", env, "deployments"), body=body)
        return _deployment(msgspec.json.decode(reply.content)), reply.created

    @override
    async def get(self, ref: DeploymentRef) -> Deployment:
        return _deployment((await self._send("GET", ref)).decode())

    @override
    async def set_restart_text(self, ref: DeploymentRef, text: str) -> Deployment:
        checks.text("text", text, bounds.REASON_CHARS, empty=False)
        return _deployment((await self._send("PATCH", ref, body={"restart_text": text})).decode())

    @override
    async def delete(self, ref: DeploymentRef) -> None:
        await self._send("DELETE", ref)

    @override
    async def list(
        self, env: str, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> DeploymentPage:
        calls.check_page(limit, tenant)
        where = path("envs", checks.name("env", env), "deployments")
        whose = tenant or self._tenant or EVERY_TENANT
        reply = await self._http.get(where, tenant=whose, limit=limit, cursor=cursor)
        items = tuple(map(_deployment, reply["items"]))
        return DeploymentPage(items=items, next_cursor=reply["next_cursor"])

    @override
    async def events(
        self, ref: DeploymentRef, *, limit: int = 50
    ) -> builtins.list[DeploymentEvent]:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        reply = await self._send("GET", ref, "events", query={"limit": limit})
        return msgspec.convert(reply.decode()["items"], builtins.list[DeploymentEvent])

    @override
    async def explain(self, ref: DeploymentRef, session: str) -> RouteExplanation:
        checks.text("session", session, bounds.ID_CHARS, empty=False)
        reply = await self._send("GET", ref, "explain", query={"session": session})
        return msgspec.convert(reply.decode(), RouteExplanation)

    @override
    def watch(self, env: str) -> AsyncIterator[Sequence[Deployment]]:
        raise NotOverHttp("deployments are watched on the store itself")

    # Revisions

    @override
    async def _stage(self, ref: DeploymentRef, new: NewRevision) -> tuple[Revision, bool]:
        body = msgspec.to_builtins(new)
        del body["packs_of"]  # The server decides by the key of the caller.
        reply = await self._send("POST", ref, "revisions", body=body)
        return msgspec.json.decode(reply.content, type=Revision), reply.created

    @override
    async def warm(self, ref: DeploymentRef, revision_id: str) -> Revision:
        return await self._act(ref, revision_id, "warm", {})

    @override
    async def judge(
        self, ref: DeploymentRef, revision_id: str, gates: Sequence[Gate], *, seen: int
    ) -> Revision:
        body = {"gates": [msgspec.to_builtins(gate) for gate in gates], "seen": seen}
        return await self._act(ref, revision_id, "judge", body)

    @override
    async def drain(
        self, ref: DeploymentRef, revision_id: str, *, deadline_ms: int | None = None
    ) -> Revision:
        return await self._act(ref, revision_id, "drain", {"deadline_ms": deadline_ms})

    @override
    async def needs(
        self, ref: DeploymentRef, revision_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> NeedPage:
        checks.name("revision", revision_id)
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        query = {"limit": limit, "cursor": cursor}
        reply = await self._send("GET", ref, "revisions", revision_id, "needs", query=query)
        return msgspec.convert(reply.decode(), NeedPage)

    @override
    async def forecast(self, ref: DeploymentRef, revision_id: str) -> Forecast:
        checks.name("revision", revision_id)
        reply = await self._send("GET", ref, "revisions", revision_id, "forecast")
        return msgspec.json.decode(reply.content, type=Forecast)

    @override
    async def figures(
        self, ref: DeploymentRef, revision_id: str, *, window_ms: int = WINDOW_MS
    ) -> Figures:
        checks.name("revision", revision_id)
        query = {"window_ms": window_ms}
        reply = await self._send("GET", ref, "revisions", revision_id, "figures", query=query)
        return msgspec.json.decode(reply.content, type=Figures)

    @override
    async def archive(self, ref: DeploymentRef, revision_id: str) -> Revision:
        return await self._act(ref, revision_id, "archive", {})

    async def _act(self, ref: DeploymentRef, revision_id: str, verb: str, body: Any) -> Revision:
        checks.name("revision", revision_id)
        reply = await self._send("POST", ref, "revisions", revision_id, verb, body=body)
        return msgspec.json.decode(reply.content, type=Revision)

    # Splits

    @override
    async def set_split(
        self,
        ref: DeploymentRef,
        entries: Sequence[SplitEntry],
        *,
        expected_generation: int,
        idempotency_key: str | None = None,
    ) -> Split:
        weights = [
            {"revision": entry.revision, "weight_bps": entry.weight_bps}
            for entry in check_entries(entries)
        ]
        body = {
            "entries": weights,
            "expected_generation": expected_generation,
            "idempotency_key": idempotency_key or new_id(),
        }
        return msgspec.convert((await self._send("PUT", ref, "split", body=body)).decode(), Split)

    @override
    async def rollback(
        self,
        ref: DeploymentRef,
        *,
        to_generation: int | None = None,
        idempotency_key: str | None = None,
    ) -> Split:
        body = {"to_generation": to_generation, "idempotency_key": idempotency_key or new_id()}
        reply = await self._send("POST", ref, "rollback", body=body)
        return msgspec.convert(reply.decode(), Split)

    async def _send(
        self,
        method: str,
        ref: DeploymentRef,
        *parts: str,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
    ) -> Reply:
        where = path("envs", ref.env, "deployments", ref.id, *parts)
        whose = self._tenant if ref.tenant in {None, DEFAULT_TENANT} else ref.tenant
        return await self._http.send(
            method, where, body=body, query={"tenant": whose, **(query or {})}
        )


def _deployment(view: Any) -> Deployment:
    return msgspec.convert(view, Deployment)

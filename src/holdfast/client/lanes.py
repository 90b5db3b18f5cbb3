"""Lanes over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import Http, path
from holdfast.model import checks
from holdfast.model.lanes import LaneView


@final
class RemoteLanes(api.Lanes):
    """Operations on lanes."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def pause(self, lane: str) -> None:
        await self._http.post(path("lanes", checks.name("lane", lane), "pause"))

    @override
    async def resume(self, lane: str) -> None:
        await self._http.post(path("lanes", checks.name("lane", lane), "resume"))

    @override
    async def drain(self, lane: str) -> None:
        await self._http.post(path("lanes", checks.name("lane", lane), "drain"))

    @override
    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        await self._http.put(path("lanes", checks.name("lane", lane), "weights"), weights)

    @override
    async def set_retention(
        self, keep_ms: Mapping[str, int | None], *, tenant: str | None = None
    ) -> None:
        await self._http.put("/v1/settings/retention", {"tenant": tenant, "keep_ms": keep_ms})

    @override
    async def retention(self) -> dict[str | None, dict[str, int]]:
        reply = await self._http.get("/v1/settings/retention")
        return {item["tenant"]: item["keep_ms"] for item in reply["items"]}

    @override
    async def states(self) -> dict[str, str]:
        lanes = await self._http.items("/v1/lanes")
        return {item["lane"]: item["setting"] for item in lanes if item["setting"] != "open"}

    @override
    async def views(self, *, tenant: str | None = None) -> Sequence[LaneView]:
        if tenant is not None:
            checks.name("tenant", tenant)
        lanes = await self._http.items("/v1/lanes", tenant=tenant)
        return msgspec.convert(lanes, list[LaneView])

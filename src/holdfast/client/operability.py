"""The doctor and the snapshot over HTTP."""

from __future__ import annotations

import time
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.http import EVERY_TENANT, Http
from holdfast.model import names
from holdfast.model.findings import Finding
from holdfast.model.found import Found
from holdfast.model.services import ServiceProcess
from holdfast.model.snapshots import QueueDepth, Snapshot
from holdfast.model.states import State
from holdfast.model.workers import Worker


@final
class RemoteOperability(api.Operability):
    """The doctor and the snapshot of a server's store."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def doctor(self) -> list[Finding]:
        return msgspec.convert((await self._http.get("/v1/doctor"))["findings"], list[Finding])

    @override
    async def snapshot(self) -> Snapshot:
        view = await self._http.get("/v1/snapshot")
        oldest = view["oldest_waiting"]
        return Snapshot(
            taken_at=time.monotonic(),
            counts=_counts(view["counts"]),
            lanes={lane["lane"]: _counts(lane["counts"]) for lane in view["lanes"]},
            settings={
                lane["lane"]: lane["setting"] for lane in view["lanes"] if lane["setting"] != "open"
            },
            workers=msgspec.convert(view["workers"], list[Worker]),
            oldest=None if oldest is None else decode.execution(oldest),
            queues=[_depth(queue) for queue in view["queues"]],
            services=msgspec.convert(view["services"], list[ServiceProcess]),
            more_workers=view["more_workers"],
            more_queues=view["more_queues"],
        )

    @override
    async def find(self, text: str, *, tenant: str | None = None) -> list[Found]:
        whose = tenant or self._http.tenant or EVERY_TENANT
        reply = await self._http.get("/v1/find", id=text, tenant=whose)
        return msgspec.convert(reply["items"], list[Found])


def _counts(view: dict[str, int]) -> dict[State, int]:
    return {State(state): count for state, count in view.items()}


def _depth(view: dict[str, Any]) -> QueueDepth:
    name = names.stored(view["tenant"], view["name"])
    return msgspec.convert({**view, "queue": name}, QueueDepth)

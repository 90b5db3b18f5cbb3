"""Lanes and workers over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from holdfast.client import decode
from holdfast.client.beats import beat_body
from holdfast.client.http import Http, Remote, path
from holdfast.engine.lanes import Lanes
from holdfast.engine.workers import DEFAULT_TTL_MS, Workers
from holdfast.model import checks
from holdfast.model.workers import Beat, Registration, Worker


class RemoteLanes(Remote, Lanes):
    """Operations on lanes."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def pause(self, lane: str) -> None:
        """Claim nothing from the lane until it is resumed; what runs goes on."""
        await self._http.post(path("lanes", checks.name("lane", lane), "pause"))

    async def resume(self, lane: str) -> None:
        """Open the lane again."""
        await self._http.post(path("lanes", checks.name("lane", lane), "resume"))

    async def drain(self, lane: str) -> None:
        """Accept nothing new on the lane; what is there runs."""
        await self._http.post(path("lanes", checks.name("lane", lane), "drain"))

    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        """Set tenants' shares of the lane's claims; None goes back to the default, 1."""
        await self._http.put(path("lanes", checks.name("lane", lane), "weights"), weights)

    async def set_retention(
        self, keep_ms: Mapping[str, int | None], *, tenant: str | None = None
    ) -> None:
        """Set how long ended executions are kept, by state; None goes back to the default."""
        await self._http.put("/v1/settings/retention", {"tenant": tenant, "keep_ms": keep_ms})

    async def retention(self) -> dict[str | None, dict[str, int]]:
        """Return what was set of retention, in ms by tenant and state; None is all tenants."""
        reply = await self._http.get("/v1/settings/retention")
        return {item["tenant"]: item["keep_ms"] for item in reply["items"]}

    async def states(self) -> dict[str, str]:
        """Return the lanes that are not open: paused or draining."""
        found = await self._http.items("/v1/lanes")
        return {item["lane"]: item["setting"] for item in found if item["setting"] != "open"}


class RemoteWorkers(Remote, Workers):
    """The registry of workers."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def register(
        self,
        instance: str,
        *,
        worker: str,
        lanes: Sequence[str],
        capabilities: Sequence[str] = (),
        slots: int = 1,
        busy: int = 0,
        ttl_ms: int = DEFAULT_TTL_MS,
        tenant: str | None = None,
        kinds: Sequence[str] | None = None,
    ) -> Registration:
        """Register a worker, or say that it is still there; its key decides for which tenant."""
        del tenant
        beat = Beat(
            instance=checks.name("instance", instance),
            worker=worker,
            lanes=tuple(lanes),
            capabilities=tuple(capabilities),
            slots=slots,
            busy=busy,
            ttl_ms=ttl_ms,
            kinds=None if kinds is None else tuple(kinds),
        )
        response = await self._http.send("PUT", path("workers", instance), body=beat_body(beat))
        reply = msgspec.json.decode(response.content)
        return Registration(
            is_new=response.created,
            expires_at=decode.moment(reply["expires_at"]),
            draining=reply["draining"],
        )

    async def drain(self, instance: str, *, tenant: str | None = None) -> None:
        """Ask a worker to finish and claim no more; it learns so at its next heartbeat."""
        del tenant
        await self._http.post(path("workers", checks.name("instance", instance), "drain"))

    async def remove(self, instance: str, *, tenant: str | None = None) -> bool:
        """Take a worker off the registry."""
        del tenant
        await self._http.delete(path("workers", checks.name("instance", instance)))
        return True

    async def list(self) -> list[Worker]:
        """Return the workers that are alive."""
        return msgspec.convert(await self._http.items("/v1/workers"), list[Worker])

"""Heartbeats over HTTP, from a thread with its own event loop, so that no task can block them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.client import decode
from holdfast.client.http import Http, path, refusal_of
from holdfast.errors import HoldfastError
from holdfast.model.executions import Lease
from holdfast.model.workers import Beat

_ITEMS_IN_CALL = 1_000


class RemoteBeats:
    """Renews leases and keeps a worker registered."""

    def __init__(self, http: Http, timeout_ms: int) -> None:
        self._http = Http(http.url, http.key, timeout_ms, timeout_ms, http.away)
        self._runner = asyncio.Runner()

    def close(self) -> None:
        """Close the connection."""
        self._runner.run(self._http.close())
        self._runner.close()

    def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""
        answers: list[datetime | HoldfastError] = []
        for start in range(0, len(held), _ITEMS_IN_CALL):
            body = renewal_body(held[start : start + _ITEMS_IN_CALL], lease_ms)
            reply = self._call("POST", "/v1/leases:renew", body)
            answers += [renewed(item) for item in reply["items"]]
        return answers

    def register_worker(self, beat: Beat) -> bool:
        """Register or refresh a worker; return whether it should drain."""
        reply = self._call("PUT", path("workers", beat.instance), beat_body(beat))
        return bool(reply["draining"])

    def remove_worker(self, instance: str) -> None:
        """Remove a worker from the registry."""
        self._call("DELETE", path("workers", instance), None)

    def _call(self, method: str, where: str, body: Any) -> Any:
        return self._runner.run(self._http.send(method, where, body=body)).decode()


def beat_body(beat: Beat) -> dict[str, Any]:
    """Return the body of a heartbeat."""
    return {
        "worker": beat.worker,
        "lanes": beat.lanes,
        "capabilities": beat.capabilities,
        "kinds": beat.kinds,
        "slots": beat.slots,
        "busy": beat.busy,
        "ttl_ms": beat.ttl_ms,
    }


def lease_body(lease: Lease) -> dict[str, Any]:
    """Return a lease in the form of request bodies."""
    return {"id": lease.id, "epoch": lease.epoch, "attempt": lease.attempt}


def renewal_body(held: Sequence[tuple[str, Lease]], lease_ms: int) -> dict[str, Any]:
    """Return the body of a renewal."""
    items = [{"execution": execution, "lease": lease_body(lease)} for execution, lease in held]
    return {"items": items, "lease_ms": lease_ms}


def renewed(item: dict[str, Any]) -> datetime | HoldfastError:
    """Read the answer for one lease."""
    return decode.moment(item["expires_at"]) if item["ok"] else refusal_of(item)

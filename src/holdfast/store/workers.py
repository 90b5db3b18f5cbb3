"""The registry of workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.model import records
from holdfast.model.moments import from_ms
from holdfast.model.workers import Beat, Worker
from holdfast.store.domain import Domain

#: Stands for every kind in the registry; no kind has this name.
_EVERY_KIND = "*"


def register_args(beat: Beat) -> tuple[str, ...]:
    """Return the arguments of register.lua for a beat."""
    return (
        beat.instance,
        beat.worker,
        ",".join(beat.lanes),
        ",".join(beat.capabilities),
        str(beat.slots),
        str(beat.busy),
        str(beat.ttl_ms),
        beat.tenant or "",
        _EVERY_KIND if beat.kinds is None else ",".join(beat.kinds),
    )


class Workers(Domain):
    """The live workers."""

    async def register(self, beat: Beat) -> tuple[bool, datetime, bool]:
        """Register or refresh; returns whether new, the expiry, and whether to drain."""
        word, expires_at, draining = await self._call.write(
            "hf_worker_register", self._store.global_tag, *register_args(beat)
        )
        return word == b"registered", from_ms(expires_at), bool(draining)

    async def drain(self, instance: str, tenant: str | None = None) -> None:
        """Ask a worker to finish and claim no more; only one of this tenant, if given."""
        await self._call.write("hf_worker_drain", self._store.global_tag, instance, tenant or "")

    async def is_draining(self, instance: str, tenant: str | None = None) -> bool:
        """Return whether a worker of this tenant, or of none, was asked to drain."""
        (draining,) = await self._call.read(
            "hf_worker_draining", self._store.global_tag, instance, tenant or ""
        )
        return bool(draining)

    async def remove(self, instance: str, tenant: str | None = None) -> bool:
        """Remove a worker from the registry; returns whether it was registered."""
        tag = self._store.global_tag
        (removed,) = await self._once("hf_worker_remove", tag, instance, tenant or "")
        return bool(removed)

    async def list(self) -> list[Worker]:
        """Return the live workers, by instance; read in parts, between which others are served."""
        workers: dict[str, Worker] = {}
        cursor = b"0"
        while True:
            cursor, *rows = await self._call.read(
                "hf_worker_list", self._store.global_tag, cursor.decode()
            )
            for name, fields in rows:
                workers[name.decode()] = _worker(name.decode(), fields)
            if cursor == b"0":
                return [workers[instance] for instance in sorted(workers)]


def _worker(instance: str, fields: Sequence[bytes]) -> Worker:
    record = records.pairs(fields)
    kinds = record[b"kinds"]
    return Worker(
        instance=instance,
        worker=record[b"worker"].decode(),
        lanes=records.names(record[b"lanes"]),
        capabilities=records.names(record[b"capabilities"]),
        slots=int(record[b"slots"]),
        busy=int(record[b"busy"]),
        draining=b"draining" in record,
        registered_at=from_ms(int(record[b"registered_at"])),
        heartbeat_at=from_ms(int(record[b"heartbeat_at"])),
        expires_at=from_ms(int(record[b"expires_at"])),
        tenant=record.get(b"tenant", b"").decode() or None,
        kinds=None if kinds == _EVERY_KIND.encode() else records.names(kinds),
    )

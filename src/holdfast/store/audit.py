"""The audit log as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from holdfast.model.audit import AuditEntry, AuditLog
from holdfast.model.moments import from_ms
from holdfast.store.domain import Domain

_KEEP_MS = 90 * 86_400_000
_MOST = {AuditLog.CALLS: 100_000, AuditLog.CONTROL: 100_000}


class Audit(Domain):
    """Two bounded logs in the global partition."""

    async def append(self, log: AuditLog, entries: Sequence[AuditEntry]) -> None:
        """Append entries, with the time of the store."""
        args: list[str | bytes] = []
        for entry in entries:
            args += [entry.tenant or "", entry.key or "", msgspec.json.encode(_kept(entry))]
        await self._call.write(
            "hf_audit_append", self._store.global_tag, log, str(_MOST[log]), str(_KEEP_MS), *args
        )

    async def list(
        self, log: AuditLog, *, before: str, since: str, tenant: str, key: str, limit: int
    ) -> tuple[list[AuditEntry], str]:
        """Return entries, newest first, and the cursor to continue with, if any."""
        rows, go_on = await self._call.read(
            "hf_audit_list", self._store.global_tag, log, before, since, tenant, key, str(limit)
        )
        return [_entry(entry_id.decode(), data) for entry_id, data in rows], go_on.decode()


def _kept(entry: AuditEntry) -> dict[str, Any]:
    kept: dict[str, Any] = {
        "address": entry.address,
        "method": entry.method,
        "route": entry.route,
        "target": entry.target,
        "request": entry.request,
        "status": entry.status,
    }
    if entry.key is not None:
        kept["key"] = entry.key
    if entry.tenant is not None:
        kept["tenant"] = entry.tenant
    if entry.code is not None:
        kept["code"] = entry.code
    return kept


def _entry(entry_id: str, data: bytes) -> AuditEntry:
    at = from_ms(int(entry_id.partition("-")[0]))
    return AuditEntry(id=entry_id, at=at, **msgspec.json.decode(data))

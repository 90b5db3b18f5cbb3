"""Erases a tenant from the archive: rewritten segments leave out its blocks.

Other tenants' blocks are copied unchanged, without unpacking. One commit replaces all segments.
Then the old ones are deleted and verified as absent, and the manifest's audit log gets the proof.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.archive.archive import Archive, entries_of
from holdfast.archive.segment import Builder
from holdfast.errors import BackendFailed, VersionConflict
from holdfast.fencing.writer import ManifestWriter
from holdfast.model import bounds, checks, references

#: How many entries of the audit log are kept.
AUDIT_ENTRIES = 1_000
#: Payloads that are kept in memory until it is certain that no new execution needs them.
_PAYLOADS_AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The proof of an erasure, as the audit log has it."""

    tenant: str
    executions: int
    #: Digest and name of each deleted segment that had data of the tenant.
    replaced: Sequence[dict[str, str]]
    by: str
    reason: str
    token: str
    at_ms: int
    #: Deleted large inputs and results, which are stored beside the segments; None: they stay,
    #: because the store still has executions of the tenant.
    payloads: int | None
    #: Whether the absence of the old segments was verified.
    confirmed: bool
    #: Sessions of the store that were removed with their transcripts.
    sessions: int = 0
    event: str = "tenant_erased"


async def erase(
    archive: Archive,
    writer: ManifestWriter,
    tenant: str,
    *,
    by: str,
    reason: str,
    is_in_store: Callable[[], Awaitable[bool]],
    sessions: int = 0,
) -> Erasure:
    """Erase a tenant, its payloads unless it `is_in_store` by then.

    No segment may be pending: `Archiver.erase_tenant` ensures that.
    """
    checks.name("tenant", tenant)
    checks.text("reason", reason, bounds.REASON_CHARS)
    add: dict[str, Any] = {}
    replaced, executions = [], 0
    for name, entry in entries_of(writer.snapshot):
        if tenant in entry.tenants:
            builder = Builder()
            builder.copy(await archive.load(name, entry), without_tenant=tenant)
            executions += entry.tenants[tenant]
            replaced.append({"segment": name, "sha256": entry.sha256})
            if builder.rows:
                body, smaller = builder.finish()
                add[await writer.put(body, ".segment")] = smaller.to_value()
    done = Erasure(
        tenant=tenant,
        executions=executions,
        replaced=replaced,
        by=by,
        reason=reason,
        token=str(writer.snapshot.token),
        at_ms=archive.manifest.times.wall_ms(),
        payloads=None,
        confirmed=False,
        sessions=sessions,
    )
    before = list(writer.snapshot.facts.get("audit", ()))
    drop = [entry["segment"] for entry in replaced]
    await writer.commit(add=add, drop=drop, facts={"audit": _log(before, done), "pending": None})
    await writer.collect()
    for name in drop:
        if await archive.manifest.get(name) is not None:
            raise BackendFailed(f"{name} still exists after it was deleted", maybe_done=True)
    payloads = await _delete_payloads(archive, tenant, is_in_store)
    confirmed = Erasure(**{**asdict(done), "payloads": payloads, "confirmed": True})
    await writer.commit(facts={"audit": _log(before, confirmed)})
    return confirmed


async def _delete_payloads(
    archive: Archive, tenant: str, is_in_store: Callable[[], Awaitable[bool]]
) -> int | None:
    """Delete the payloads of a tenant, unless the store has executions of it.

    An execution that is submitted meanwhile may share a payload that is there already. Either it is
    found here after the deletion, or its process sees the erasure and writes the payload again.
    """
    names = [entry.key async for entry in archive.objects.list(references.prefix_of(tenant))]
    # Only now: executions may have been submitted since the erasure began, which takes a while.
    if await is_in_store():
        return None
    for start in range(0, len(names), _PAYLOADS_AT_ONCE):
        deleted: dict[str, bytes] = {}
        # As long as nobody knows better, also if anything fails.
        is_needed = True
        try:
            for name in names[start : start + _PAYLOADS_AT_ONCE]:
                stored = await archive.objects.get(name)
                if stored is not None:
                    deleted[name] = stored.body
                    await archive.objects.delete(name)
            is_needed = await is_in_store()
        finally:
            if is_needed:
                await _put_back(archive, deleted)
        if is_needed:
            return None
    return len(names)


async def _put_back(archive: Archive, deleted: Mapping[str, bytes]) -> None:
    for name, body in deleted.items():
        with contextlib.suppress(VersionConflict):
            await archive.objects.put_if_absent(name, body)


def _log(before: list[Any], entry: Erasure) -> list[Any]:
    return [*before, asdict(entry)][-AUDIT_ENTRIES:]


async def audit_log(archive: Archive) -> list[dict[str, Any]]:
    """Return the audit log of the archive, oldest first."""
    snapshot = await archive.manifest.read()
    return list(snapshot.facts.get("audit", ())) if snapshot else []

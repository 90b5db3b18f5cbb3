"""The audit log: appended in groups, read newest first."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from typing_extensions import override

from holdfast import api
from holdfast.errors import InvalidInput
from holdfast.lines import Line
from holdfast.model import bounds, checks
from holdfast.model.audit import AuditEntry, AuditLog
from holdfast.model.moments import to_ms
from holdfast.store.store import Store

_ENTRIES_IN_CALL = 200


class Audit(api.Audit):
    """The audit log of a store.

    Entries that come while an append is under way go out together with the next one, so a busy
    server appends many in one call.
    """

    def __init__(self, store: Store) -> None:
        self._audit = store.audit
        self._lines: dict[AuditLog, Line[AuditEntry, None]] = {
            log: Line(partial(self._send, log), most_items=_ENTRIES_IN_CALL) for log in AuditLog
        }

    def append(self, log: AuditLog, entry: AuditEntry) -> asyncio.Future[None]:
        """Append an entry; when this is done, the store has it."""
        return self._lines[log].add(entry)

    async def _send(self, log: AuditLog, entries: Sequence[AuditEntry]) -> Sequence[None]:
        await self._audit.append(log, entries)
        return [None] * len(entries)

    @override
    async def list(
        self,
        *,
        tenant: str | None = None,
        key: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[AuditEntry], str | None]:
        checks.integer("limit", limit, 1, bounds.AUDIT_ITEMS)
        before = dict(zip(AuditLog, _parse_cursor(cursor), strict=True))
        pages = await asyncio.gather(
            *(
                self._audit.list(
                    log,
                    before=before[log],
                    since="-" if since is None else f"{max(0, to_ms(since))}-0",
                    tenant="" if tenant is None else checks.name("tenant", tenant),
                    key=key or "",
                    limit=limit,
                )
                for log in AuditLog
                if before[log]
            )
        )
        return _merge([log for log in AuditLog if before[log]], before, pages, limit)


def _merge(
    logs: list[AuditLog],
    before: dict[AuditLog, str],
    pages: list[tuple[list[AuditEntry], str]],
    limit: int,
) -> tuple[list[AuditEntry], str | None]:
    """Take the newest of both; the cursor has the position in each log, empty at its end."""
    rows = heapq.merge(
        *(
            [(_order(entry), log, entry) for entry in page]
            for log, (page, _) in zip(logs, pages, strict=True)
        )
    )
    taken: list[AuditEntry] = []
    left = {log: len(page) for log, (page, _) in zip(logs, pages, strict=True)}
    horizon = _horizon(pages)
    for order, log, entry in rows:
        if len(taken) == limit or order > horizon:
            break
        taken.append(entry)
        before[log] = str(entry.id)
        left[log] -= 1
    for log, (_, go_on) in zip(logs, pages, strict=True):
        if left[log] == 0:
            before[log] = go_on
    return taken, "_".join(before.values()) if any(before.values()) else None


def _order(entry: AuditEntry) -> tuple[int, int]:
    ms, _, number = str(entry.id).partition("-")
    return -int(ms), -int(number)


def _horizon(pages: list[tuple[list[AuditEntry], str]]) -> tuple[float, float]:
    """Return the time back to which all pages are complete."""
    ends = [go_on for _, go_on in pages if go_on]
    if not ends:
        return (1, 1)
    return min((-int(ms), -int(number)) for ms, _, number in (end.partition("-") for end in ends))


def _parse_cursor(cursor: str | None) -> tuple[str, ...]:
    if cursor is None:
        return ("+",) * len(AuditLog)
    parts = tuple(checks.text("cursor", cursor, bounds.ID_CHARS).split("_"))
    if len(parts) != len(AuditLog) or not all(
        part in {"", "+"} or part.replace("-", "", 1).isdecimal() for part in parts
    ):
        message = "cursor: must be one that a list returned"
        raise InvalidInput(message, field="cursor")
    return parts

"""hf_audit_append: entries stay in order, bounded in number and age."""

from __future__ import annotations

import pytest

from holdfast.model.audit import AuditLog
from holdfast.store import audit
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.access import entry


async def requests_of(store: Store, log: AuditLog = AuditLog.CALLS) -> list[str]:
    rows, _ = await store.audit.list(log, before="+", since="-", tenant="", key="", limit=1_000)
    return [one.request for one in rows]


async def test_entries_have_the_time_of_the_store(store: Store, clock: Clock) -> None:
    """And what was given, in the log it was given to."""
    given = entry("r1", code="stale_lease", target={"id": "x1"})
    await store.audit.append(AuditLog.CALLS, [given])
    (found,), go_on = await store.audit.list(
        AuditLog.CALLS, before="+", since="-", tenant="", key="", limit=10
    )
    assert (found.at, go_on) == (clock.now, "")
    assert (found.request, found.code, found.target) == ("r1", "stale_lease", {"id": "x1"})
    assert await requests_of(store, AuditLog.CONTROL) == []


async def test_the_order_holds_when_the_clock_goes_back(store: Store, clock: Clock) -> None:
    """The newest is always the last that was appended."""
    await store.audit.append(AuditLog.CALLS, [entry("r1"), entry("r2")])
    await clock.set(START_MS - 60_000)
    await store.audit.append(AuditLog.CALLS, [entry("r3")])
    assert await requests_of(store) == ["r3", "r2", "r1"]


async def test_the_number_of_entries_is_bounded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old ones go, in blocks; the other log keeps what it has."""
    monkeypatch.setitem(audit._MOST, AuditLog.CALLS, 100)
    await store.audit.append(AuditLog.CONTROL, [entry("precious")])
    for start in range(0, 1_000, 200):
        await store.audit.append(
            AuditLog.CALLS, [entry(f"r{n}") for n in range(start, start + 200)]
        )
    kept = await requests_of(store)
    assert kept[0] == "r999"
    assert 100 <= len(kept) <= 300
    assert await requests_of(store, AuditLog.CONTROL) == ["precious"]


async def test_the_age_of_entries_is_bounded(store: Store, clock: Clock) -> None:
    """After 90 days, again in blocks."""
    await store.audit.append(AuditLog.CALLS, [entry(f"old{n}") for n in range(300)])
    await clock.advance(91 * 86_400_000)
    await store.audit.append(AuditLog.CALLS, [entry("new")])
    kept = await requests_of(store)
    assert kept[0] == "new"
    assert len(kept) <= 101

"""hf_audit_list: newest first, by tenant and key, in pages."""

from __future__ import annotations

import pytest

from holdfast.engine.audit import Audit
from holdfast.model.audit import AuditLog
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.access import entry


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["c", "b", "a"]),
        ({"tenant": "acme"}, ["c", "a"]),
        ({"key": "k2"}, ["c"]),
        ({"tenant": "other", "key": "k2"}, []),
        ({"since": from_ms(START_MS + 1)}, ["c", "b"]),
        ({"since": from_ms(-1)}, ["c", "b", "a"]),
    ],
)
async def test_filters(
    store: Store, clock: Clock, filters: dict[str, object], expected: list[str]
) -> None:
    """Each narrows the list."""
    log = store.audit
    await log.append(AuditLog.CALLS, [entry("a")])
    await clock.advance(1)
    await log.append(AuditLog.CONTROL, [entry("b", tenant="other")])
    await log.append(AuditLog.CALLS, [entry("c", key="k2")])
    entries, cursor = await Audit(store).list(**filters)  # type: ignore[arg-type]
    assert sorted(one.request for one in entries) == sorted(expected)
    assert cursor is None


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
async def test_pages_of_both_logs_are_one_list(store: Store, clock: Clock, limit: int) -> None:
    """Each entry once, newest first, whatever the size of the pages."""
    for n in range(40):
        log = AuditLog.CALLS if n % 3 else AuditLog.CONTROL
        await store.audit.append(log, [entry(f"r{n}", tenant="acme" if n % 2 else "other")])
        await clock.advance(1)
    for tenant, step in ((None, 1), ("acme", 2)):
        found: list[str] = []
        cursor = None
        while True:
            page, cursor = await Audit(store).list(tenant=tenant, limit=limit, cursor=cursor)
            found += [one.request for one in page]
            assert len(page) <= limit
            if cursor is None:
                break
        assert found == [f"r{n}" for n in range(39, -1, -step)]


async def test_a_call_looks_at_five_thousand_entries(store: Store) -> None:
    """An entry behind them is found by the next call."""

    async def found(before: str = "+") -> tuple[list[str], str]:
        entries, cursor = await store.audit.list(
            AuditLog.CALLS, before=before, since="-", tenant="acme", key="", limit=10
        )
        return [one.request for one in entries], cursor

    await store.audit.append(AuditLog.CALLS, [entry("mine")])
    for count in (1_000, 1_000, 1_000, 1_000, 999):
        await store.audit.append(AuditLog.CALLS, [entry("r", tenant="other")] * count)
    assert (await found())[0] == ["mine"]
    await store.audit.append(AuditLog.CALLS, [entry("r", tenant="other")])
    missed, cursor = await found()
    assert (missed, (await found(cursor))[0]) == ([], ["mine"])

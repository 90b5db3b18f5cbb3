"""hf_service_list."""

from __future__ import annotations

from holdfast.model.services import ServiceProcess, ServiceStatus
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump

RUNS = ServiceStatus(name="ticker", running=True)


async def test_no_process_is_an_empty_list(store: Store) -> None:
    """Nothing is reported, nothing is listed."""
    assert await store.services.list() == []


async def test_only_reports_that_hold_are_listed(store: Store, clock: Clock, dump: Dump) -> None:
    """In the order of their names; the look writes nothing."""
    await store.services.report("short", [RUNS], 10_000)
    await store.services.report("b", [RUNS], 20_000)
    await store.services.report("a", [], 20_000)
    await clock.advance(10_000)
    before = dump()
    assert await store.services.list() == [
        ServiceProcess(name="a", services=()),
        ServiceProcess(name="b", services=(RUNS,)),
    ]
    assert dump() == before

"""hf_service_report."""

from __future__ import annotations

from holdfast.model.services import ServiceStatus
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump

RUNS = ServiceStatus(name="ticker", running=True)
STOPPED = ServiceStatus(name="courier", running=False, restarts=2, last_error="it returned")


async def test_a_report_replaces_the_last_one(store: Store) -> None:
    """Sent twice it is the same; a new one is what counts."""
    await store.services.report("p", [RUNS], 10_000)
    await store.services.report("p", [RUNS], 10_000)
    await store.services.report("p", [RUNS, STOPPED], 10_000)
    (process,) = await store.services.list()
    assert process.services == (RUNS, STOPPED)


async def test_a_process_that_ends_leaves_nothing(store: Store, dump: Dump) -> None:
    """Without services it is forgotten, also when it was never there."""
    before = dump()
    await store.services.report("p", [RUNS], 10_000)
    await store.services.forget("p")
    await store.services.forget("p")
    assert dump() == before


async def test_reports_that_have_expired_go(store: Store, clock: Clock) -> None:
    """Processes that died without a word do not pile up."""
    for number in range(5):
        await store.services.report(f"dead{number}", [RUNS], 10_000)
    await clock.advance(10_000)
    await store.services.report("p", [RUNS], 10_000)
    reports = await store.client.call(["HLEN", f"{store.global_tag}:services"])
    assert reports == 1

"""Take a snapshot of a store: counts, the oldest waiting execution, workers, queues, services."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast.model.executions import Execution
from holdfast.model.listing import Filter
from holdfast.model.services import ServiceProcess
from holdfast.model.snapshots import Snapshot
from holdfast.model.states import State
from holdfast.model.workers import Worker
from holdfast.operate.depths import MOST_QUEUES, depths

if TYPE_CHECKING:
    from holdfast.store.engine import StoreEngine

#: The most workers in a snapshot, so that its size is bounded.
MOST_WORKERS = 1_000
#: The precision of the age of the oldest waiting execution; a coarse one takes few calls.
_PRECISION_MS = 500


async def take(engine: StoreEngine, *, tenant: str | None = None) -> Snapshot:
    """Take a snapshot; with a tenant, only of that tenant's data."""
    cells, settings, workers, oldest, queues, services = await asyncio.gather(
        engine.count(tenant),
        engine.lanes.states(),
        _workers(engine, tenant),
        oldest_waiting(engine, tenant=tenant),
        depths(engine.queues, tenant),
        _services(engine, tenant),
    )
    counts: Counter[State] = Counter()
    lanes: dict[str, Counter[State]] = {}
    for cell in cells:
        counts[cell.state] += cell.count
        lanes.setdefault(cell.lane, Counter())[cell.state] += cell.count
    return Snapshot(
        taken_at=time.monotonic(),
        counts=counts,
        lanes=lanes,
        settings=settings,
        workers=workers[:MOST_WORKERS],
        oldest=oldest,
        queues=queues[:MOST_QUEUES],
        services=services,
        more_workers=len(workers) > MOST_WORKERS,
        more_queues=len(queues) > MOST_QUEUES,
    )


async def _workers(engine: StoreEngine, tenant: str | None) -> list[Worker]:
    workers = await engine.workers.list()
    return [worker for worker in workers if tenant in {None, worker.tenant}]


async def _services(engine: StoreEngine, tenant: str | None) -> list[ServiceProcess]:
    """Return the services, which belong to no tenant."""
    return await engine.store.services.list() if tenant is None else []


async def oldest_waiting(engine: StoreEngine, *, tenant: str | None = None) -> Execution | None:
    """Find the oldest waiting execution.

    Lists are newest first, so the search goes by time: back in doubling steps until nothing is
    older, then forward and back in halving steps.
    """
    oldest = await _newest_before(engine, tenant, None, 0)
    step_ms = _PRECISION_MS
    back = True
    while oldest is not None and step_ms >= _PRECISION_MS:
        older = await _newest_before(engine, tenant, oldest, step_ms)
        back = back and older is not None
        step_ms = step_ms * 2 if back else step_ms // 2
        oldest = older or oldest
    return oldest


async def _newest_before(
    engine: StoreEngine, tenant: str | None, item: Execution | None, step_ms: int
) -> Execution | None:
    until = None if item is None else item.created_at - timedelta(milliseconds=step_ms)
    page = await engine.list(Filter(tenant=tenant, state=State.WAITING, until=until), limit=1)
    return page.items[0] if page.items else None

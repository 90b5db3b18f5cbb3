"""The search for drift: check that lists, counts, queues and timers agree with the records.

It uses the calls of any client, so it finds what the store's functions can show: executions that
are missing from a list, that wait in no queue, or whose timer is gone. It cannot find entries of
queues and timers that belong to no execution.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta

from holdfast.errors import ExecutionNotFound
from holdfast.model import bounds
from holdfast.model.executions import Execution
from holdfast.model.listing import Count, Filter
from holdfast.model.states import Hold, State
from holdfast.store.engine import StoreEngine

#: How often a cell that changes during the comparison is compared again.
_TRIES = 5
#: A timer that is later than this counts as lost.
_SLACK = timedelta(seconds=5)
_AT_ONCE = 200


async def search(
    engine: StoreEngine, advance: Callable[[int], None], *, check_due: bool
) -> list[str]:
    """Return a line for each disagreement. With `check_due`, also find lost timers."""
    lines: list[str] = []
    for cell in await engine.count():
        lines += await _compare(engine, cell)
        async for page in _pages(engine, cell):
            for start in range(0, len(page), _AT_ONCE):
                looks = (
                    _look(engine, item, check_due=check_due)
                    for item in page[start : start + _AT_ONCE]
                )
                lines += [line for line in await asyncio.gather(*looks) if line]
            advance(len(page))
    return lines


async def _pages(engine: StoreEngine, cell: Count) -> AsyncIterator[tuple[Execution, ...]]:
    cursor = None
    while True:
        page = await engine.list(_filter(cell), limit=bounds.PAGE_ITEMS, cursor=cursor)
        yield page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _filter(cell: Count) -> Filter:
    return Filter(tenant=cell.tenant, lane=cell.lane, kind=cell.kind, state=cell.state)


async def _compare(engine: StoreEngine, cell: Count) -> list[str]:
    """Compare the count of a cell with the records that a list returns for it."""
    name = f"{cell.tenant} {cell.lane} {cell.kind} {cell.state}"
    for _ in range(_TRIES):
        before = await _size(engine, cell)
        listed = 0
        async for page in _pages(engine, cell):
            listed += len(page)
        if before == await _size(engine, cell):
            if listed == before:
                return []
            return [f"{name}: counted {before}, listed {listed}"]
    return []


async def _size(engine: StoreEngine, cell: Count) -> int:
    return sum(
        other.count
        for other in await engine.count(cell.tenant)
        if (other.lane, other.kind, other.state) == (cell.lane, cell.kind, cell.state)
    )


async def _look(engine: StoreEngine, item: Execution, *, check_due: bool) -> str | None:
    """Check one execution, if its state can drift."""
    if item.state is State.WAITING or (check_due and due_of(item) is not None):
        try:
            facts = await engine.store.queries.explain_facts(item.id)
        except ExecutionNotFound:
            return None
        now = facts.execution
        waits = now.state is State.WAITING and now.hold is not Hold.GRANT
        if waits and facts.ahead is None:
            return f"{item.id}: waits in no queue"
        due = due_of(now)
        if check_due and due is not None and due + _SLACK < facts.now:
            return f"{item.id}: is {now.state}, was due at {due.isoformat()}, has no timer"
    return None


def due_of(item: Execution) -> datetime | None:
    """Return when a timer of this execution must fire."""
    if item.state is State.ACTIVE:
        return item.lease_expires_at
    if item.state is State.DELAYED:
        return item.run_at
    return item.forget_at if item.state.is_terminal else None

"""hf_graph_list."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import InvalidInput
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import submit


async def test_graphs_are_listed_newest_first(store: Store, clock: Clock) -> None:
    """By tenant and state, over all partitions."""
    graphs = Graphs(store, Payloads(store))
    runs = []
    for n in range(6):
        await clock.advance(10)
        runs.append(await submit(store, "a", tenant="odd" if n % 2 else "even"))
    await runs[0].complete("a")
    await runs[1].fail("a")
    await graphs.cancel(runs[2].id)
    newest = [run.id for run in reversed(runs)]

    async def listed(**wanted: str) -> list[str]:
        return [graph.id for graph in (await graphs.list(**wanted)).items]  # type: ignore[arg-type]

    assert await listed() == newest
    assert await listed(tenant="odd") == newest[::2]
    assert await listed(state="running") == newest[:3]
    assert await listed(state="completed") == [runs[0].id]
    assert await listed(state="failed", tenant="odd") == [runs[1].id]
    assert await listed(state="failed", tenant="even") == []
    assert await listed(tenant="nobody") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_follow_each_other(store: Store, clock: Clock, limit: int) -> None:
    """Each graph once, also when several were born in the same moment."""
    graphs = Graphs(store, Payloads(store))
    made = set()
    for n in range(7):
        if n % 3 == 0:
            await clock.advance(10)
        made.add((await submit(store, "a")).id)
    found: list[str] = []
    cursor = None
    while True:
        page = await graphs.list(limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        found += [graph.id for graph in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert (len(found), set(found)) == (7, made)


async def test_a_cursor_must_be_one_of_ours(store: Store) -> None:
    """Anything else is refused."""
    with pytest.raises(InvalidInput):
        await Graphs(store, Payloads(store)).list(cursor="nonsense")

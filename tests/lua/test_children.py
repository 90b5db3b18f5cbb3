"""Children are listed under their parents, which lists them for as long as both are kept."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import InvalidInput
from holdfast.model.executions import NewExecution
from holdfast.model.listing import Filter
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_one


async def create(store: Store, execution_id: str, tenant: str = "default", **more: Any) -> None:
    """Create an execution under an id."""
    item = NewExecution(kind="k", id=execution_id, tenant=tenant, **more)
    (answer,) = await store.executions.create([item])
    assert not isinstance(answer, Exception), answer


async def children(store: Store, parent: str, **more: Any) -> list[str]:
    """Return the ids of the children of an execution, newest first."""
    page = await store.queries.list_executions(Filter(parent=parent, **more), 10, None)
    return [one.id for one in page.items]


async def test_a_child_is_listed_and_names_its_parent(store: Store) -> None:
    """By the form of its id; children of children have a list of their own."""
    for execution_id in ("p", "p~0.1", "p~0.2", "p~0.1~0.1"):
        await create(store, execution_id)
    assert await children(store, "p") == ["p~0.2", "p~0.1"]
    assert await children(store, "p~0.1") == ["p~0.1~0.1"]
    assert (await store.queries.describe("p~0.1")).parent == "p"
    assert (await store.queries.describe("p~0.1~0.1")).parent == "p~0.1"
    assert (await store.queries.describe("p")).parent is None


async def test_children_are_filtered_and_paged_like_all_others(store: Store) -> None:
    """A page ends where it was told to."""
    for execution_id in ("p", "p~0.1", "p~0.2", "p~0.3"):
        await create(store, execution_id)
    await store.executions.cancel("p~0.2", "")
    assert await children(store, "p", state="cancelled") == ["p~0.2"]
    first = await store.queries.list_executions(Filter(parent="p"), 2, None)
    rest = await store.queries.list_executions(Filter(parent="p"), 2, first.next_cursor)
    assert [one.id for one in (*first.items, *rest.items)] == ["p~0.3", "p~0.2", "p~0.1"]


@pytest.mark.parametrize("execution_id", ["q~0.1", "p~x", "p~7", "p~0.g1", "p~0.1.2"])
async def test_other_ids_with_a_tilde_are_no_children(store: Store, execution_id: str) -> None:
    """Nothing is a child of what does not exist, or in another form."""
    await create(store, "p")
    await create(store, execution_id)
    assert await children(store, "p") == []
    assert await children(store, "q") == []
    assert (await store.queries.describe(execution_id)).parent is None


async def test_another_tenant_gets_no_children(store: Store) -> None:
    """Whatever it calls its executions."""
    await create(store, "p", "acme")
    await create(store, "p~0.1", "bolt")
    assert await children(store, "acme=p") == []
    assert (await store.queries.describe("bolt=p~0.1")).parent is None


async def test_a_repeated_creation_lists_a_child_once(store: Store) -> None:
    """As every attempt of the parent submits it again."""
    await create(store, "p")
    await create(store, "p~0.1")
    await create(store, "p~0.1")
    assert await children(store, "p") == ["p~0.1"]


async def test_a_removed_child_leaves_the_list_and_a_removed_parent_its_children(
    store: Store, clock: Clock
) -> None:
    """Nothing is left of the list when both are gone."""
    await create(store, "p", retention_ms=2_000)
    await create(store, "p~0.1", retention_ms=1_000)
    await create(store, "p~0.2", retention_ms=3_000)
    for execution_id in ("p", "p~0.1", "p~0.2"):
        claim = await claim_one(store, execution_id)
        await store.executions.complete(claim.id, claim.lease, b"1")
    await clock.advance_and_tick(1_000)
    assert await children(store, "p") == ["p~0.2"]
    tag = store.tag_of("p")
    assert await store.client.call(["ZRANGE", f"{tag}:o:p", "0", "-1"]) == [b"p~0.2"]
    await clock.advance_and_tick(1_000)
    assert await children(store, "p") == []
    assert (await store.queries.describe("p~0.2")).parent == "p"
    await clock.advance_and_tick(1_000)
    assert await store.client.call(["EXISTS", f"{tag}:o:p"]) == 0


def test_a_parent_combines_neither_with_a_graph_nor_with_a_tag() -> None:
    """Each of them is a list of its own."""
    with pytest.raises(InvalidInput, match="parent"):
        Filter(parent="p", graph="g")
    with pytest.raises(InvalidInput, match="parent"):
        Filter(parent="p", tag=("a", "b"))

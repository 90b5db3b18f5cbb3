"""hf_execution_total."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.model.ids import new_id
from holdfast.model.listing import Filter, Total
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.lua.execution.test_list import fill, ids_of
from tests.support.lifecycle import claim_one, create_one, create_together


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"tenant": "acme"},
        {"kind_prefix": "ma", "states": (State.ACTIVE, State.WAITING)},
        {"tag": ("colour", "red")},
        {"tag": ("colour", "red"), "kind": "mail"},
        {"since": from_ms(START_MS + 3), "until": from_ms(START_MS + 9)},
        {"text": "blue"},
        {"id_prefix": "0"},
        {"error_type": "Timeout"},
    ],
)
async def test_a_total_is_the_length_of_the_list(
    store: Store, clock: Clock, wanted: dict[str, Any]
) -> None:
    """Exact for every filter while there are few."""
    await claim_one(store, await create_one(store))
    await fill(store, clock, 20)
    listed = await ids_of(store, **wanted)
    assert await store.queries.total(Filter(**wanted)) == Total(count=len(listed), exact=True)


async def test_the_children_of_an_execution_are_counted_for_their_tenant(store: Store) -> None:
    """Another tenant has none of them."""
    await create_together(store, {"id": "p"}, {"id": "p~0.1"}, {"id": "p~0.2"})
    for tenant, count in ((None, 2), ("default", 2), ("other", 0)):
        total = await store.queries.total(Filter(parent="p", tenant=tenant))
        assert total == Total(count=count, exact=True)


async def test_a_total_without_an_index_says_that_there_are_more(store: Store) -> None:
    """It looks at a bounded number; a total that an index gives is exact however large."""
    many = 2_100
    root = new_id()
    for at in range(0, many, 700):
        items = ({"id": f"{root}~{n}", "tags": {"n": f"x{n}"}} for n in range(at, at + 700))
        await create_together(store, *items)
    assert await store.queries.total(Filter(kind_prefix="wor")) == Total(count=many, exact=True)
    total = await store.queries.total(Filter(text="x"))
    assert (total.count, total.exact, str(total)) == (2_000, False, "2,000+")

"""hf_execution_explain_all."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import complete_one, create_one


async def test_it_says_of_each_what_explain_says_of_one(store: Store) -> None:
    """In any state and partition, more of them than one call takes; those that are gone are out."""
    ended = await complete_one(store)
    ids = [await create_one(store) for _ in range(110)]
    ids += [await create_one(store, delay_ms=1_000), ended]
    page = await store.queries.explain_page([*ids, "nothing"])
    assert page.keys() == set(ids)
    for one in (ids[0], ids[70], *ids[-2:]):
        assert page[one] == await store.queries.explain_facts(one)
    assert await store.queries.explain_page([]) == {}

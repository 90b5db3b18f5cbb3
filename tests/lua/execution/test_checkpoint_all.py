"""hf_execution_checkpoint_all, which processes of 0.2.0 call."""

from __future__ import annotations

from holdfast.store.store import Store
from tests.support.lifecycle import claim_one, create_one


async def test_each_item_has_an_answer(store: Store) -> None:
    """Also if all of them are recorded."""
    claim = await claim_one(store, await create_one(store))
    item = (claim.id, claim.lease.fence)
    tag, function = store.tag_of(claim.id), "hf_execution_checkpoint_all"
    answers = await store.caller.write(function, tag, *item, "a", b"1", *item, "b", b"2")
    assert answers == [[b"ok"], [b"ok"]]
    answers = await store.caller.write(function, tag, *item, "a", b"3", claim.id, "x:1:0", "c", b"")
    assert answers[0] == [b"ok", b"1"]
    assert answers[1][:2] == [b"no", b"stale_lease"]
    assert [step.name for step in await store.queries.steps(claim.id)] == ["a", "b"]

"""hf_execution_unblock."""

from __future__ import annotations

from holdfast.model.limit_refs import LimitRef
from holdfast.model.states import Hold, State
from holdfast.store.grants import Verdict
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, create_one, state_of
from tests.support.limits import grant_one, make_quota

FULL = Verdict(blocker=LimitRef.quota("q"))


async def test_one_that_waits_for_the_limit_is_ready_again(store: Store) -> None:
    """At its old place: it is as old as before."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    await store.executions.activate(tag, asked, [(grant, FULL)])
    await store.executions.unblock(tag, [(execution_id, "q:q")])
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold, found.blocked_by) == (State.WAITING, None, None)
    assert (await store.queries.explain_facts(execution_id)).ahead == {"work": 0}


async def test_one_that_waits_for_another_limit_stays(store: Store, dump: Dump) -> None:
    """The message is of an earlier wait."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    await store.executions.activate(tag, asked, [(grant, FULL)])
    before = dump()
    await store.executions.unblock(tag, [(execution_id, "q:other"), ("nobody", "q:q")])
    assert dump() == before
    assert await state_of(store, execution_id) is State.RATE_LIMITED


async def test_a_wake_up_that_overtakes_the_block_is_not_lost(store: Store) -> None:
    """The place was free before the execution knew that it had to wait."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    await store.executions.unblock(tag, [(execution_id, "q:q")])
    assert (await store.queries.describe(execution_id)).hold is Hold.GRANT
    await store.executions.activate(tag, asked, [(grant, FULL)])
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold) == (State.WAITING, None)
    await grant_one(store, execution_id)

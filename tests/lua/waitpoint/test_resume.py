"""hf_waitpoint_resume."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound, NotSuspended, WaitpointClosed
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, Source, WaitpointState
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import (
    Dump,
    claim_one,
    complete_one,
    create_one,
    refused,
    state_of,
)
from tests.support.waits import (
    effects_of,
    events_of,
    point_of,
    record_calls,
    run_one,
    send,
    suspend,
    suspend_one,
)


async def test_an_operator_lets_it_go_on(store: Store, clock: Clock, dump: Dump) -> None:
    """The attempt gets what has come, and the operator's word last."""
    both = {"all": [{"waitpoint": "a"}, {"waitpoint": "b"}]}
    first, (a, b) = await suspend_one(store, "a", "b", condition=both)
    await send(store, a, "yes")
    assert await store.waitpoints.resume(first.id, b'{"why":1}', "ann") is State.WAITING
    second = await claim_one(store, first.id)
    assert (second.lease.attempt, second.lease.epoch) == (0, 2)
    assert [one.name for one in second.signals] == ["yes", "resume"]
    word = second.signals[-1]
    assert (word.payload, word.source) == (b'{"why":1}', Source(type="operator", identity="ann"))
    assert (word.effect, word.waitpoint) == (Effect.RESUMED, None)
    for point in (a, b):
        found = await point_of(store, point)
        assert (found.state, found.why) == (WaitpointState.CLOSED, "resumed")
    await refused(send(store, b), WaitpointClosed, dump, id=b.id, why="resumed")
    assert violations(dump(), clock.now_ms) == []


async def test_the_history_tells_who_did_it(store: Store) -> None:
    """By what it was woken is not a secret."""
    claim, _ = await suspend_one(store)
    await store.waitpoints.resume(claim.id, b"null", "ann")
    *_, woken = await store.queries.history(claim.id)
    assert (woken.event, woken.data["by"], woken.data["identity"]) == ("woken", "operator", "ann")
    assert await effects_of(store, claim.id) == [("resume", "resumed")]


async def test_a_timeout_is_off(store: Store, clock: Clock, dump: Dump) -> None:
    """What a resumed execution would have waited for does not end it."""
    claim, _ = await suspend_one(store, timeout_ms=5_000)
    await store.waitpoints.resume(claim.id, b"null", "")
    await clock.advance_and_tick(5_000)
    assert await state_of(store, claim.id) is State.WAITING
    assert violations(dump(), clock.now_ms) == []


async def test_a_repeated_resume_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """At once, after the next claim, in the next wait, and after the end."""
    calls = record_calls(store)
    claim, _ = await suspend_one(store)
    await store.waitpoints.resume(claim.id, b"null", "")
    resuming = len(calls.calls) - 1
    for moment in ("at once", "claimed", "in the next wait", "ended"):
        if moment == "claimed":
            claim = await claim_one(store, claim.id)
        elif moment == "in the next wait":
            await suspend(store, claim, "other")
        elif moment == "ended":
            await store.executions.cancel(claim.id, "")
        before = dump()
        assert await calls.again(resuming) == [b"waiting"]
        assert dump() == before
    assert (await events_of(store, claim.id)).count("woken") == 1


@pytest.mark.parametrize("state", ["waiting", "active", "completed"])
async def test_only_a_suspended_one_is_resumed(store: Store, dump: Dump, state: str) -> None:
    """Nothing else waits."""
    if state == "completed":
        execution_id: str = await complete_one(store)
    elif state == "active":
        execution_id = (await run_one(store)).id
    else:
        execution_id = await create_one(store)
    call = store.waitpoints.resume(execution_id, b"null", "")
    await refused(call, NotSuspended, dump, id=execution_id, state=state)


async def test_an_unknown_execution(store: Store, dump: Dump) -> None:
    """There is nothing to resume."""
    call = store.waitpoints.resume("nobody", b"null", "")
    await refused(call, ExecutionNotFound, dump, id="nobody")

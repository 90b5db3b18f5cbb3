"""hf_execution_replay."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import (
    ExecutionNotFound,
    NotTerminal,
    ReplayLimit,
    SessionBusy,
    StepNotFound,
)
from holdfast.model.executions import Claim, Failure
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import (
    Dump,
    claim_in,
    claim_one,
    complete_one,
    create_one,
    refused,
    state_of,
)
from tests.support.sessions import begin, deliver, first_texts, session_of, turn

FAILURE = Failure(type="e", message="m")


async def replay(
    store: Store,
    execution_id: str,
    *,
    request: str = "r1",
    keep_steps: bool = False,
    from_step: str = "",
) -> list[Any]:
    keep = "1" if keep_steps else "0"
    args = (execution_id, request, keep, from_step, "again")
    return await store.caller.write("hf_execution_replay", store.tag_of(execution_id), *args)


async def complete_with_steps(store: Store, *names: str) -> Claim:
    claim = await claim_one(store, await create_one(store))
    for name in names:
        await store.executions.checkpoint(claim.id, claim.lease, name, name.encode())
    await store.executions.complete(claim.id, claim.lease, b"1")
    return claim


async def test_a_completed_execution_runs_again(store: Store, dump: Dump) -> None:
    """It waits like a new one; result, content type, end and progress are gone."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.progress(claim.id, claim.lease, 90, "nearly")
    await store.executions.complete(claim.id, claim.lease, b"x" * 100, "text/plain")
    assert await replay(store, claim.id) == [b"waiting"]
    found = await store.queries.describe(claim.id)
    assert (found.state, found.replays, found.attempt_kind) == (
        State.WAITING,
        1,
        AttemptKind.REPLAY,
    )
    assert (found.completed_at, found.forget_at) == (None, None)
    assert (found.progress_pct, found.progress_message) == (None, None)
    assert "nearly" not in str(dump())
    assert await store.executions.watch(claim.id, "") == [b"waiting"]
    again = await claim_one(store, claim.id)
    await store.executions.complete(claim.id, again.lease, b"2")
    _, result, content_type, _ = await store.executions.watch(claim.id, "")
    assert (result, content_type) == (b"2", b"")


async def test_a_completed_replay_has_no_reason(store: Store) -> None:
    """The reason of the replay is history, not the reason of the new end."""
    execution_id = await complete_one(store)
    await replay(store, execution_id)
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"2")
    assert (await store.queries.describe(execution_id)).reason is None


@pytest.mark.parametrize("end", ["failed", "cancelled", "expired"])
async def test_every_end_can_be_replayed(store: Store, clock: Clock, end: str) -> None:
    """Failed, cancelled and expired executions run again, and can complete."""
    execution_id = await create_one(store, deadline_ms=5_000)
    claim = await claim_one(store, execution_id)
    if end == "failed":
        await store.executions.fail(execution_id, claim.lease, FAILURE)
    elif end == "cancelled":
        await store.executions.cancel(execution_id, "")
    else:
        await clock.advance_and_tick(5_000)
    assert await state_of(store, execution_id) == end
    await replay(store, execution_id)
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"1")
    found = await store.queries.describe(execution_id)
    assert (found.state, found.error) == (State.COMPLETED, None)


async def test_a_deadline_counts_anew(store: Store, clock: Clock) -> None:
    """An expired execution gets its whole time again."""
    execution_id = await create_one(store, deadline_ms=5_000)
    await clock.advance_and_tick(7_000)
    await replay(store, execution_id)
    found = await store.queries.describe(execution_id)
    assert found.deadline_at == from_ms(clock.now_ms + 5_000)
    await clock.advance_and_tick(5_000)
    assert await state_of(store, execution_id) is State.EXPIRED


async def test_retries_and_reclaims_count_anew(store: Store, clock: Clock) -> None:
    """A replayed execution has all its attempts; their numbers go on."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    execution_id = await create_one(store, retry=policy, max_reclaims=1)
    await claim_one(store, execution_id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    for _ in range(2):
        claim = await claim_one(store, execution_id)
        state, _ = await store.executions.fail(execution_id, claim.lease, FAILURE)
    assert state is State.FAILED
    await replay(store, execution_id)
    found = await store.queries.describe(execution_id)
    assert (found.failures, found.reclaims, found.attempts) == (0, 0, 3)
    claim = await claim_one(store, execution_id, lease_ms=1_000)
    assert (claim.lease.attempt, claim.lease.epoch) == (3, 4)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(store, execution_id)
    state, _ = await store.executions.fail(execution_id, claim.lease, FAILURE)
    assert state is State.WAITING


async def test_steps_are_dropped_unless_kept(store: Store) -> None:
    """A plain replay starts from an empty journal."""
    claim = await complete_with_steps(store, "a", "b")
    await replay(store, claim.id)
    again = await claim_one(store, claim.id)
    assert again.steps == {}
    await store.executions.checkpoint(claim.id, again.lease, "z", b"1")
    assert [step.name for step in await store.queries.steps(claim.id)] == ["z"]


async def test_kept_steps_are_handed_to_the_replay(store: Store) -> None:
    """Nothing that was done is done again, and new steps follow the old ones."""
    claim = await complete_with_steps(store, "b", "a")
    await replay(store, claim.id, keep_steps=True)
    again = await claim_one(store, claim.id)
    assert list(again.steps.items()) == [("b", b"b"), ("a", b"a")]
    await store.executions.checkpoint(claim.id, again.lease, "0", b"1")
    assert [step.name for step in await store.queries.steps(claim.id)] == ["b", "a", "0"]


@pytest.mark.parametrize(("step", "left"), [("c", []), ("a", ["c"]), ("b", ["c", "a"])])
async def test_a_replay_may_start_at_a_step(store: Store, step: str, left: list[str]) -> None:
    """The step and all recorded after it are dropped, those before it are kept."""
    claim = await complete_with_steps(store, "c", "a", "b")
    await replay(store, claim.id, from_step=step)
    again = await claim_one(store, claim.id)
    assert list(again.steps) == left
    await store.executions.checkpoint(claim.id, again.lease, "0", b"1")
    assert [found.name for found in await store.queries.steps(claim.id)] == [*left, "0"]


async def test_an_unknown_step_is_refused(store: Store, dump: Dump) -> None:
    """The refusal names the step, and the journal stays whole."""
    claim = await complete_with_steps(store, "a")
    call = replay(store, claim.id, from_step="nope")
    await refused(call, StepNotFound, dump, id=claim.id, step="nope")


@pytest.mark.parametrize("limit", [0, 2])
async def test_replays_are_capped(store: Store, dump: Dump, limit: int) -> None:
    """The cap is that of the execution."""
    execution_id = await complete_one(store, max_replays=limit)
    for n in range(limit):
        await replay(store, execution_id, request=f"r{n}")
        await store.executions.cancel(execution_id, "")
    call = replay(store, execution_id, request="one more")
    await refused(call, ReplayLimit, dump, id=execution_id, limit=limit)


async def test_the_default_cap_is_ten(store: Store, dump: Dump) -> None:
    """Nobody needs to set a cap to be safe from endless replays."""
    execution_id = await complete_one(store)
    for n in range(10):
        await replay(store, execution_id, request=f"r{n}")
        await store.executions.cancel(execution_id, "")
    call = replay(store, execution_id, request="one more")
    await refused(call, ReplayLimit, dump, id=execution_id, limit=10)


async def test_a_repeated_replay_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """One request is one replay."""
    execution_id = await complete_one(store)
    await replay(store, execution_id)
    before = dump()
    assert await replay(store, execution_id) == [b"waiting"]
    assert dump() == before


async def test_a_repeated_replay_does_not_run_an_ended_one_again(store: Store, dump: Dump) -> None:
    """A late repetition after the replay has ended starts nothing."""
    execution_id = await complete_one(store)
    await replay(store, execution_id)
    claim = await claim_one(store, execution_id)
    await store.executions.complete(execution_id, claim.lease, b"2")
    before = dump()
    await replay(store, execution_id)
    assert dump() == before
    assert await claim_in(store, store.tag_of(execution_id)) == []


async def test_the_holder_before_the_replay_keeps_its_answer(store: Store, dump: Dump) -> None:
    """A completion repeated after the replay is still a completion, and touches nothing."""
    claim = await complete_with_steps(store, "a")
    await replay(store, claim.id)
    before = dump()
    await store.executions.complete(claim.id, claim.lease, b"other")
    assert dump() == before
    again = await claim_one(store, claim.id)
    before = dump()
    await store.executions.complete(claim.id, claim.lease, b"other")
    assert dump() == before
    assert again.lease.epoch == claim.lease.epoch + 1


@pytest.mark.parametrize("state", ["waiting", "delayed", "active"])
async def test_only_ended_executions_are_replayed(store: Store, dump: Dump, state: str) -> None:
    """The refusal says what it is doing."""
    execution_id = await create_one(store, delay_ms=9_000 if state == "delayed" else None)
    if state == "active":
        await claim_one(store, execution_id)
    call = replay(store, execution_id)
    await refused(call, NotTerminal, dump, id=execution_id, state=state)


async def test_replaying_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(replay(store, "nobody"), ExecutionNotFound, dump, id="nobody")


async def test_an_ended_execution_of_a_session_is_its_current_one_again(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It receives messages, repeats no reply that is recorded, and may end again."""
    claim = await begin(store)
    session_id = session_of(claim)
    await turn(store, claim, "one")
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    await replay(store, claim.id, keep_steps=True)
    assert violations(dump(), clock.now_ms) == []
    assert (await deliver(store, "two")).effect == "buffered"
    again = await claim_one(store, claim.id)
    assert (await turn(store, again, "one", "other")).numbers == (2, 5)
    await store.executions.complete(again.id, again.lease, b"null")
    following = await claim_one(store, f"{session_id}~2")
    assert first_texts(following) == ["two"]
    assert violations(dump(), clock.now_ms) == []


async def test_a_session_has_one_execution_at_a_time(store: Store, dump: Dump) -> None:
    """While another runs or waits, none is replayed."""
    first = await begin(store)
    await store.executions.complete(first.id, first.lease, b"null")
    second = await begin(store)
    await refused(replay(store, first.id), SessionBusy, dump, id=session_of(first))
    await turn(store, second, wait="receive:1")
    await refused(replay(store, first.id), SessionBusy, dump, id=session_of(first))
    await store.executions.cancel(second.id, "")
    assert await replay(store, first.id) == [b"waiting"]

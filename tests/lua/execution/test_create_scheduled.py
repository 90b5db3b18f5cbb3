"""hf_execution_create by a schedule: the execution comes to be and the schedule moves on."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.model.executions import Failure, NewExecution
from holdfast.model.states import Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one, state_of
from tests.support.scheduling import HOUR_MS, fired, plan, put, read, step


async def test_a_tick_makes_an_execution_and_moves_the_schedule(store: Store, dump: Dump) -> None:
    """It has the schedule's fields, a tag that names it, and an id that says when."""
    execution = NewExecution(kind="report", tenant="acme", lane="slow", tags={"a": "b"})
    schedule = await put(store, plan(execution=execution))
    assert await store.schedules.fire(schedule, [step(0)]) == ["created"]
    (execution_id,) = await fired(store)
    assert execution_id == f"acme=daily~{START_MS}"
    found = await store.queries.describe(execution_id)
    assert (found.kind, found.tenant, found.lane) == ("report", "acme", "slow")
    assert (found.tags, found.state) == ({"a": "b", "schedule": "daily"}, State.WAITING)
    moved = await read(store, "acme=daily")
    assert (moved.next_ms, moved.last_ms, moved.last_execution) == (
        START_MS + HOUR_MS,
        START_MS,
        execution_id,
    )
    assert (moved.fired, moved.running, moved.version) == (1, 1, 1)
    assert violations(dump()) == []


async def test_a_tick_is_fired_once_whoever_is_first(store: Store) -> None:
    """Many schedulers, the same steps, one execution of each."""
    schedule = await put(store, plan())
    steps = [step(n) for n in range(5)]
    answers = await asyncio.gather(*(store.schedules.fire(schedule, steps) for _ in range(10)))
    assert len(await fired(store)) == 5
    assert sum(answer.count("created") for answer in answers) == 5
    assert {word for answer in answers for word in answer} <= {"created", "duplicate"}
    assert (await read(store, "daily")).fired == 5


async def test_a_tick_whose_execution_is_gone_is_not_fired_again(
    store: Store, clock: Clock
) -> None:
    """What remembers is where the schedule stands, not the execution."""
    execution = NewExecution(kind="work", retention_ms=0)
    schedule = await put(store, plan(execution=execution))
    await store.schedules.fire(schedule, [step(0)])
    claim = await claim_one(store, f"daily~{START_MS}")
    await store.executions.complete(claim.id, claim.lease, b"1")
    await clock.advance_and_tick(1)
    assert await fired(store) == []
    assert await store.schedules.fire(schedule, [step(0)]) == ["schedule_moved"]
    assert await fired(store) == []


@pytest.mark.parametrize("how", ["removed", "changed", "paused"])
async def test_a_schedule_that_changed_fires_nothing_old(
    store: Store, dump: Dump, how: str
) -> None:
    """Nothing is written."""
    schedule = await put(store, plan())
    if how == "removed":
        await store.schedules.remove("daily")
    elif how == "changed":
        await store.schedules.put(plan(jitter_ms=1), 1, START_MS)
    else:
        await store.schedules.put(plan(paused=True), 1, None)
    before = dump()
    assert await store.schedules.fire(schedule, [step(0)]) == ["schedule_moved"]
    assert dump() == before


async def test_an_id_that_is_taken_moves_nothing(store: Store) -> None:
    """Whoever fires is told, and passes over the tick."""
    await create_one(store, id=f"daily~{START_MS}", kind="mine")
    schedule = await put(store, plan())
    assert await store.schedules.fire(schedule, [step(0)]) == ["id_conflict"]
    assert (await read(store, "daily")).next_ms == START_MS


async def test_a_tick_that_an_earlier_schedule_of_this_name_fired_is_passed_over(
    store: Store,
) -> None:
    """Its execution is there; the schedule must not stand still for ever."""
    schedule = await put(store, plan())
    await store.schedules.fire(schedule, [step(0)])
    await store.schedules.remove("daily")
    schedule = await put(store, plan())
    assert await store.schedules.fire(schedule, [step(0), step(1)]) == ["duplicate", "created"]
    found = await read(store, "daily")
    assert (found.next_ms, found.fired) == (START_MS + 2 * HOUR_MS, 1)
    assert len(await fired(store)) == 2


async def test_a_draining_lane_refuses_ticks(store: Store) -> None:
    """As it refuses anything new."""
    schedule = await put(store, plan())
    await store.lanes.set_state("default", "draining")
    assert await store.schedules.fire(schedule, [step(0)]) == ["lane_draining"]


async def test_overlap_skip_passes_over_ticks_while_one_runs(store: Store) -> None:
    """Until it has ended."""
    schedule = await put(store, plan(overlap="skip"))
    assert await store.schedules.fire(schedule, [step(0), step(1)]) == ["created", "skipped"]
    found = await read(store, "daily")
    assert (found.fired, found.skipped, found.running) == (1, 1, 1)
    assert found.next_ms == START_MS + 2 * HOUR_MS
    claim = await claim_one(store, f"daily~{START_MS}")
    assert await store.schedules.fire(schedule, [step(2)]) == ["skipped"]
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await store.schedules.fire(schedule, [step(3)]) == ["created"]


async def test_overlap_allow_lets_them_run_side_by_side(store: Store) -> None:
    """All at once."""
    schedule = await put(store, plan(overlap="allow"))
    await store.schedules.fire(schedule, [step(n) for n in range(3)])
    assert len(await claim_in(store, store.tag_of("daily"), limit=10)) == 3


async def test_overlap_queue_runs_one_after_the_other(store: Store, dump: Dump) -> None:
    """Whatever way the one before ends."""
    schedule = await put(store, plan(overlap="queue"))
    await store.schedules.fire(schedule, [step(n) for n in range(4)])
    ids = await fired(store)
    tag = store.tag_of("daily")
    for index, how in enumerate(("complete", "fail", "cancel")):
        (claim,) = await claim_in(store, tag, limit=10)
        assert claim.id == ids[index]
        held = await store.queries.describe(ids[index + 1])
        assert (held.state, held.hold, held.run_at) == (State.DELAYED, Hold.SCHEDULE, None)
        assert held.state_vector.blocking_reason == "waiting_for_schedule"
        assert held.state_vector.eligibility == "blocked_by_schedule"
        assert violations(dump()) == []
        if how == "complete":
            await store.executions.complete(claim.id, claim.lease, b"1")
        elif how == "fail":
            await store.executions.fail(claim.id, claim.lease, Failure(type="E", message=""))
        else:
            await store.executions.cancel(claim.id, "")
        assert violations(dump()) == []
    assert [claim.id for claim in await claim_in(store, tag, limit=10)] == ids[3:]


async def test_a_cancelled_one_leaves_the_line(store: Store, dump: Dump) -> None:
    """Those behind it move up."""
    schedule = await put(store, plan(overlap="queue"))
    await store.schedules.fire(schedule, [step(n) for n in range(3)])
    first, second, third = await fired(store)
    await store.executions.cancel(second, "")
    assert (await read(store, "daily")).queued == 1
    assert await state_of(store, third) is State.DELAYED
    await store.executions.cancel(first, "")
    assert await state_of(store, third) is State.WAITING
    assert violations(dump()) == []


async def test_a_deadline_ends_one_that_lines_up(store: Store, clock: Clock, dump: Dump) -> None:
    """It waits no longer than any other."""
    execution = NewExecution(kind="work", deadline_ms=10_000)
    schedule = await put(store, plan(overlap="queue", execution=execution))
    await store.schedules.fire(schedule, [step(0), step(1)])
    first, second = await fired(store)
    await claim_one(store, first, lease_ms=1_000_000)
    await clock.advance_and_tick(10_000)
    assert [await state_of(store, one) for one in (first, second)] == [State.EXPIRED] * 2
    assert violations(dump(), clock.now_ms) == []
    assert (await read(store, "daily")).running == 0


async def test_a_line_is_bounded(store: Store) -> None:
    """A hundred wait; further ticks are skipped."""
    schedule = await put(store, plan(overlap="queue"))
    answers = []
    for start in range(0, 105, 35):
        answers += await store.schedules.fire(schedule, [step(start + n) for n in range(35)])
    assert answers == ["created"] * 101 + ["skipped"] * 4
    assert (await read(store, "daily")).queued == 100


async def test_a_trigger_fires_besides_the_ticks(store: Store, dump: Dump) -> None:
    """The schedule stays where it is; the same name finds the same execution."""
    schedule = await put(store, plan(overlap="skip"))
    made = await store.schedules.trigger(schedule, "now.k")
    assert (made.id, made.state, made.duplicate) == ("daily~now.k", State.WAITING, False)
    before = dump()
    again = await store.schedules.trigger(schedule, "now.k")
    assert (again.id, again.state, again.duplicate) == ("daily~now.k", State.WAITING, True)
    assert dump() == before
    assert (await read(store, "daily")).next_ms == START_MS
    assert (await read(store, "daily")).running == 1
    assert await store.schedules.fire(schedule, [step(0)]) == ["skipped"]


async def test_a_trigger_lines_up_too(store: Store) -> None:
    """Where one runs after the other."""
    schedule = await put(store, plan(overlap="queue"))
    await store.schedules.fire(schedule, [step(0)])
    assert (await store.schedules.trigger(schedule, "now.k")).state is State.DELAYED

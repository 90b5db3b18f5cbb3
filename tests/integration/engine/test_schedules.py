"""Schedules through the engine: when they fire, what they make up for, what can be changed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.engine.scheduler import SCHEDULES_IN_LOOK, Scheduler, plan_of, steps_of
from holdfast.errors import InvalidInput, ScheduleConflict, ScheduleNotFound, StoreUnavailable
from holdfast.model.executions import NewExecution
from holdfast.model.moments import from_ms
from holdfast.model.schedules import GRACE_MS, Schedule
from holdfast.model.states import State
from holdfast.store.schedules import Step
from holdfast.testing.clock import START_MS, Clock
from holdfast.testing.polling import wait_for
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one
from tests.support.scheduling import HOUR_MS, fired, known, plan, read


async def pass_time(engine: Engine, clock: Clock, ms: int) -> None:
    """Let time pass and fire what is due, as maintenance would."""
    await clock.advance_and_tick(ms)
    await engine.schedules.run_due()


def hours(*numbers: float) -> list[str]:
    """The ids of what an hourly schedule fires at these hours."""
    return [f"daily~{START_MS + int(n * HOUR_MS)}" for n in numbers]


@pytest.fixture
async def engines(engine: Engine) -> AsyncIterator[list[Engine]]:
    """Several processes on one store."""
    others = [Engine(engine.store) for _ in range(4)]
    yield [engine, *others]
    for other in others:
        await other.close()


# Firing


async def test_a_cron_schedule_fires_at_its_ticks(engine: Engine, clock: Clock) -> None:
    """Not before, not twice, every hour."""
    made, is_new = await engine.schedules.create(plan())
    assert is_new
    assert made.next_at == from_ms(START_MS + HOUR_MS)
    await pass_time(engine, clock, HOUR_MS - 1)
    assert await fired(engine.store) == []
    for count in range(1, 4):
        await pass_time(engine, clock, 1 if count == 1 else HOUR_MS)
        await engine.schedules.run_due()
        assert await fired(engine.store) == hours(*range(1, count + 1))
    found = await engine.schedules.get("daily")
    assert (found.fired, found.missed, found.last_execution) == (3, 0, hours(3)[0])


async def test_an_interval_keeps_its_pace(engine: Engine, clock: Clock) -> None:
    """A scheduler that is late does not shift the ticks."""
    await engine.schedules.create(plan(every_ms=10_000))
    await pass_time(engine, clock, 10_700)
    await pass_time(engine, clock, 9_300)
    await pass_time(engine, clock, 15_000)
    ticks = [int(one.split("~")[1]) - START_MS for one in await fired(engine.store)]
    assert ticks == [10_000, 20_000, 30_000]


async def test_one_shot_fires_once(engine: Engine, clock: Clock) -> None:
    """It stays, finished."""
    await engine.schedules.create(plan(at=from_ms(START_MS + 5_000)))
    await pass_time(engine, clock, 5_000)
    await pass_time(engine, clock, HOUR_MS)
    assert len(await fired(engine.store)) == 1
    assert (await engine.schedules.get("daily")).next_at is None
    assert await engine.schedules.next_times("daily") == []


async def test_jitter_delays_the_tick_not_its_name(engine: Engine, clock: Clock) -> None:
    """The same for everybody, so a tick still fires once."""
    made, _ = await engine.schedules.create(plan(jitter_ms=600_000))
    wait = made.plan.due(START_MS + HOUR_MS) - START_MS
    assert wait > HOUR_MS
    assert made.next_at == from_ms(START_MS + wait)
    await pass_time(engine, clock, wait - 1)
    assert await fired(engine.store) == []
    await pass_time(engine, clock, 1)
    assert await fired(engine.store) == hours(1)


@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
async def test_jitter_longer_than_the_interval_misses_nothing(
    engine: Engine, clock: Clock, catch_up: str
) -> None:
    """Ticks wait behind one that is delayed; each fires, not before its time nor after its span."""
    cron = plan(cron="* * * * *", jitter_ms=600_000, catch_up=catch_up, catch_up_limit=1)
    made, _ = await engine.schedules.create(cron)
    known_ids: set[str] = set()
    for _ in range(60):
        await pass_time(engine, clock, 30_000)
        ids = set(await fired(engine.store))
        for tick in (int(one.split("~")[1]) for one in ids - known_ids):
            assert made.plan.due(tick) <= clock.now_ms <= tick + 600_000 + 30_000
        known_ids = ids
    ticks = sorted(int(one.split("~")[1]) for one in known_ids)
    assert ticks == list(range(START_MS + 60_000, ticks[-1] + 1, 60_000))
    assert len(ticks) >= 20
    assert (await engine.schedules.get("daily")).missed == 0


@pytest.mark.parametrize(
    ("catch_up", "limit", "expected"),
    [("none", 100, []), ("one", 100, [5]), ("all", 100, [1, 2, 3, 4, 5]), ("all", 2, [4, 5])],
)
async def test_ticks_that_were_missed(
    engine: Engine, clock: Clock, catch_up: str, limit: int, expected: list[int]
) -> None:
    """No scheduler ran for five hours and a half."""
    await engine.schedules.create(plan(catch_up=catch_up, catch_up_limit=limit))
    await pass_time(engine, clock, int(5.5 * HOUR_MS))
    assert await fired(engine.store) == hours(*expected)
    found = await engine.schedules.get("daily")
    assert (found.missed, found.fired) == (5 - len(expected), len(expected))
    await pass_time(engine, clock, HOUR_MS // 2)
    assert await fired(engine.store) == hours(*expected, 6)


async def test_a_tick_within_its_grace_was_not_missed(engine: Engine, clock: Clock) -> None:
    """A minute; the ticks before it were."""
    await engine.schedules.create(plan())
    await pass_time(engine, clock, 3 * HOUR_MS + GRACE_MS)
    assert await fired(engine.store) == hours(3)
    assert (await engine.schedules.get("daily")).missed == 2
    await engine.schedules.create(plan("later"))
    await pass_time(engine, clock, HOUR_MS + 1)
    assert await fired(engine.store, "later") == []


async def test_many_missed_ticks_with_a_large_input(engine: Engine, clock: Clock) -> None:
    """They are fired in several calls, each of which moves the schedule on."""
    execution = NewExecution(kind="work", input=b'"' + b"x" * 300_000 + b'"')
    await engine.schedules.create(plan(catch_up="all", execution=execution))
    await pass_time(engine, clock, 10 * HOUR_MS)
    assert await fired(engine.store) == hours(*range(1, 11))


async def test_many_processes_fire_each_tick_once(
    engines: list[Engine], clock: Clock, dump: Dump
) -> None:
    """Whatever time passes and whoever looks, at the same time or not at all."""
    dice = random.Random(7)
    engine = engines[0]
    plans = {
        "a": plan("a", catch_up="all", every_ms=60_000),
        "b": plan("b", catch_up="all", cron="*/7 * * * *", jitter_ms=30_000),
        "c": plan("c", catch_up="all", cron="0 * * * *", overlap="queue"),
    }
    for made in plans.values():
        await engine.schedules.create(made)
    for _ in range(25):
        await clock.advance_and_tick(dice.choice((1, 20_000, 60_000, 500_000)))
        some = dice.sample(engines, dice.randrange(len(engines) + 1))
        await asyncio.gather(*(one.schedules.run_due() for one in some))
    await asyncio.gather(*(one.schedules.run_due() for one in engines))
    now = clock.now_ms
    for name, made in plans.items():
        first = made.timing.next_after(START_MS, START_MS) or 0
        due = [t for t in made.timing.ticks(first, now, 1000) if made.due(t) <= now]
        assert await fired(engine.store, name) == [f"{name}~{tick}" for tick in due]
        assert (await read(engine.store, name)).fired == len(due)
    assert violations(dump(), now) == []


async def test_overlap_skip_waits_for_the_end(engine: Engine, clock: Clock) -> None:
    """One at a time; the ticks meanwhile are skipped."""
    await engine.schedules.create(plan(overlap="skip"))
    await pass_time(engine, clock, HOUR_MS)
    claim = await claim_one(engine.store, hours(1)[0], lease_ms=86_400_000)
    await pass_time(engine, clock, HOUR_MS)
    await pass_time(engine, clock, HOUR_MS)
    await engine.complete(claim.id, claim.lease, b"1")
    await pass_time(engine, clock, HOUR_MS)
    assert await fired(engine.store) == hours(1, 4)
    assert (await engine.schedules.get("daily")).skipped == 2


async def test_explain_names_the_schedule_that_holds_an_execution(
    engine: Engine, clock: Clock
) -> None:
    """And its state says delayed."""
    await engine.schedules.create(plan(overlap="queue"))
    await pass_time(engine, clock, HOUR_MS)
    await pass_time(engine, clock, HOUR_MS)
    _, second = await fired(engine.store)
    found = await engine.explain(second)
    assert found.state is State.DELAYED
    assert found.why == "Schedule daily starts it when its earlier executions have ended."
    assert found.holds == [{"type": "schedule", "id": "daily"}]


async def test_executions_of_a_schedule_have_its_limits(engine: Engine, clock: Clock) -> None:
    """Budgets and quotas that the schedule names hold for a tick, and for a trigger."""
    budget, _ = await engine.budgets.create(limits={"tokens": {"hard": 5}})
    quota, _ = await engine.quotas.create(max_concurrent=1)
    limited = NewExecution(kind="work", budgets=(budget.id,), quotas=(quota.id,))
    await engine.schedules.create(plan(execution=limited))
    await pass_time(engine, clock, HOUR_MS)
    by_hand = await engine.schedules.trigger("daily")
    for one in (hours(1)[0], by_hand.id):
        found = await engine.describe(one)
        assert (found.budgets, found.quotas) == ((budget.id,), (quota.id,))


@pytest.mark.parametrize("reason", ["draining", "taken", "unlimited"])
async def test_a_tick_that_cannot_be_fired_is_passed_over(
    engine: Engine, clock: Clock, reason: str
) -> None:
    """The schedule says why, and goes on."""
    budgets = ("later",) if reason == "unlimited" else ()
    execution = NewExecution(kind="work", budgets=budgets)
    await engine.schedules.create(plan(catch_up="all", execution=execution))
    if reason == "taken":
        await engine.submit("other", id=hours(1)[0])
    if reason == "draining":
        await engine.lanes.drain("default")
    await pass_time(engine, clock, HOUR_MS)
    found = await engine.schedules.get("daily")
    codes = {
        "taken": "id_conflict",
        "draining": "lane_draining",
        "unlimited": "budget_not_found",
    }
    assert found.error == codes[reason]
    assert (found.next_ms, found.missed, found.fired) == (START_MS + 2 * HOUR_MS, 1, 0)
    await engine.lanes.resume("default")
    await engine.budgets.create("later", limits={})
    await pass_time(engine, clock, HOUR_MS)
    assert await fired(engine.store) == hours(2)


async def test_one_of_several_that_cannot_be_fired_does_not_stop_the_others(
    engine: Engine, clock: Clock
) -> None:
    """The second of three is taken by somebody else."""
    await engine.submit("other", id=hours(2)[0])
    await engine.schedules.create(plan(catch_up="all"))
    await pass_time(engine, clock, 3 * HOUR_MS)
    assert await fired(engine.store) == hours(1, 3)


async def test_a_store_that_is_away_delays_a_tick(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is fired when the store is back."""
    await engine.schedules.create(plan())
    ask = engine.store.schedules.fire

    async def away(*_: Any) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(engine.store.schedules, "fire", away)
    await pass_time(engine, clock, HOUR_MS)
    assert await fired(engine.store) == []
    monkeypatch.setattr(engine.store.schedules, "fire", ask)
    await pass_time(engine, clock, 5_000)
    assert await fired(engine.store) == hours(1)


@pytest.mark.parametrize("error", [InvalidInput("broken"), ArithmeticError("broken")])
async def test_schedules_that_fail_do_not_hold_up_later_ones(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A whole look of them fails, whatever the error is; the one behind them fires."""
    tag = engine.store.tag_of("daily")
    names = (f"bad{number}" for number in range(10_000))
    broken = [name for name in names if engine.store.tag_of(name) == tag][:SCHEDULES_IN_LOOK]
    at = from_ms(START_MS + HOUR_MS)
    for name in broken:
        await engine.schedules.create(plan(name, at=at))
    await engine.schedules.create(plan("daily", at=at + timedelta(seconds=1)))
    ask = engine.store.schedules.fire

    async def fire(schedule: Schedule, steps: Sequence[Step]) -> list[str]:
        if schedule.id != "daily":
            raise error
        return await ask(schedule, steps)

    monkeypatch.setattr(engine.store.schedules, "fire", fire)
    await pass_time(engine, clock, HOUR_MS + 1_000)
    assert len(await fired(engine.store)) == 1


async def test_a_running_scheduler_is_told(engine: Engine, clock: Clock) -> None:
    """It fires at the tick of the timer, without looking before."""
    await engine.schedules.create(plan())
    scheduler = asyncio.ensure_future(Scheduler(engine.store).run())
    try:
        await clock.advance(HOUR_MS)

        async def has_fired() -> bool:
            await clock.tick()
            return bool(await fired(engine.store))

        await wait_for(has_fired)
        await clock.advance(HOUR_MS)

        async def has_fired_again() -> bool:
            await clock.tick()
            return len(await fired(engine.store)) == 2

        await wait_for(has_fired_again)
    finally:
        scheduler.cancel()
        await asyncio.gather(scheduler, return_exceptions=True)


async def test_schedules_survive_restarts(real_url: str) -> None:
    """Several processes come and go on the real clock; every second fires once."""
    every = plan(every_ms=1_000, catch_up="all")
    async with open_engine(real_url) as first:
        await first.schedules.create(every)
    async with open_engine(real_url) as one, open_engine(real_url):

        async def has_fired() -> bool:
            return (await one.schedules.get("daily")).fired >= 2

        await wait_for(has_fired, timeout_s=20)
        ids = await fired(one.store)
    ticks = [int(one.split("~")[1]) for one in ids]
    assert ticks == list(range(ticks[0], ticks[-1] + 1, 1_000))


def test_steps_lead_from_tick_to_tick() -> None:
    """Each begins where the one before ended, so each can be taken on its own."""
    made = known(plan(catch_up="all", catch_up_limit=3), START_MS)
    found = plan_of(made, START_MS + 5 * HOUR_MS)
    assert found is not None
    steps = steps_of(START_MS, found)
    assert [(s.start - START_MS) // HOUR_MS for s in steps] == [0, 4, 5]
    assert [(s.tick - START_MS) // HOUR_MS for s in steps] == [3, 4, 5]
    assert [((s.next or 0) - START_MS) // HOUR_MS for s in steps] == [4, 5, 6]
    assert [s.missed for s in steps] == [3, 0, 0]
    assert plan_of(made, START_MS - 1) is None
    assert plan_of(replace(made, next_ms=None), START_MS) is None


# Changing


async def test_creating_again_is_a_duplicate_or_a_conflict(engine: Engine) -> None:
    """The same content, or another."""
    first, is_new = await engine.schedules.create(plan())
    again, is_new_again = await engine.schedules.create(plan())
    assert (is_new, is_new_again, again) == (True, False, first)
    with pytest.raises(ScheduleConflict):
        await engine.schedules.create(plan(overlap="skip"))
    assert (await engine.schedules.put(plan(overlap="skip"))).plan.overlap == "skip"


async def test_what_is_put_again_stays_paused(engine: Engine) -> None:
    """A worker that starts does not undo what an operator did."""
    await engine.schedules.put(plan())
    await engine.schedules.pause("daily")
    assert (await engine.schedules.put(plan(overlap="skip"))).plan.paused
    assert (await engine.schedules.put(plan(overlap="skip"))).plan.paused


async def test_a_paused_schedule_fires_nothing_and_makes_up_for_nothing(
    engine: Engine, clock: Clock
) -> None:
    """It goes on with the next tick after it was resumed."""
    await engine.schedules.create(plan(catch_up="all"))
    paused = await engine.schedules.pause("daily")
    assert (paused.plan.paused, paused.next_at) == (True, None)
    assert len(await engine.schedules.next_times("daily", 3)) == 3
    await pass_time(engine, clock, int(2.5 * HOUR_MS))
    resumed = await engine.schedules.resume("daily")
    assert resumed.next_at == from_ms(START_MS + 3 * HOUR_MS)
    await pass_time(engine, clock, HOUR_MS)
    assert await fired(engine.store) == hours(3)
    assert await engine.schedules.resume("daily") == await engine.schedules.get("daily")


async def test_a_change_keeps_the_tick_unless_the_time_changes(
    engine: Engine, clock: Clock
) -> None:
    """What is due stays due."""
    await engine.schedules.create(plan())
    await clock.advance(HOUR_MS + 5)
    found = await engine.schedules.update("daily", {"overlap": "skip"})
    assert (found.next_ms, found.plan.overlap) == (START_MS + HOUR_MS, "skip")
    found = await engine.schedules.update("daily", {"cron": "30 * * * *"})
    assert found.next_ms == START_MS + HOUR_MS + HOUR_MS // 2
    with pytest.raises(InvalidInput):
        await engine.schedules.update("daily", {"cron": "x"})
    with pytest.raises(ScheduleNotFound):
        await engine.schedules.update("nobody", {})


async def test_changes_at_the_same_time_are_all_made(engines: list[Engine]) -> None:
    """Each is worked out anew when another was faster."""
    await engines[0].schedules.create(plan())
    changes: list[dict[str, Any]] = [
        {"overlap": "skip"},
        {"catch_up": "all"},
        {"jitter_ms": 5},
        {"paused": True},
        {"catch_up_limit": 9},
    ]
    await asyncio.gather(
        *(
            one.schedules.update("daily", change)
            for one, change in zip(engines, changes, strict=True)
        )
    )
    found = (await engines[0].schedules.get("daily")).plan
    assert (found.overlap, found.catch_up, found.jitter_ms) == ("skip", "all", 5)
    assert (found.paused, found.catch_up_limit) == (True, 9)


async def test_a_trigger_with_a_key_fires_once(engine: Engine) -> None:
    """Also when the schedule is paused."""
    await engine.schedules.create(plan(paused=True))
    first = await engine.schedules.trigger("daily", key="request 7")
    again = await engine.schedules.trigger("daily", key="request 7")
    other = await engine.schedules.trigger("daily")
    assert (first.id, first.duplicate, again.duplicate) == (again.id, False, True)
    assert other.id != first.id
    assert (await engine.describe(other.id)).tags == {"schedule": "daily"}
    with pytest.raises(ScheduleNotFound):
        await engine.schedules.trigger("nobody")


async def test_next_times_are_those_at_which_it_fires(engine: Engine, clock: Clock) -> None:
    """Jitter included."""
    await engine.schedules.create(plan(jitter_ms=60_000))
    times = await engine.schedules.next_times("daily", 3)
    assert len(times) == 3
    for moment in times:
        await pass_time(engine, clock, (moment - clock.now) // timedelta(milliseconds=1))
    assert await fired(engine.store) == hours(1, 2, 3)


async def test_a_deleted_schedule_is_gone(engine: Engine, clock: Clock) -> None:
    """What it fired is not."""
    await engine.schedules.create(plan())
    await pass_time(engine, clock, HOUR_MS)
    await engine.schedules.delete("daily")
    await pass_time(engine, clock, HOUR_MS)
    assert await fired(engine.store) == hours(1)
    for call in (engine.schedules.get, engine.schedules.delete, engine.schedules.next_times):
        with pytest.raises(ScheduleNotFound):
            await call("daily")


async def test_schedules_are_listed_page_by_page(engine: Engine) -> None:
    """Of one tenant, by id; or of all, tenant by tenant."""
    for n in range(7):
        execution = NewExecution(kind="work", tenant="odd" if n % 2 else "even")
        await engine.schedules.create(plan(f"s{n}", execution=execution))
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await engine.schedules.list(limit=3, cursor=cursor)
        found += [one.id for one in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == ["s0", "s2", "s4", "s6", "s1", "s3", "s5"]
    odd = await engine.schedules.list(tenant="odd", limit=2)
    assert [one.id for one in odd.items] == ["s1", "s3"]
    rest = await engine.schedules.list(tenant="odd", limit=2, cursor=odd.next_cursor)
    assert ([one.id for one in rest.items], rest.next_cursor) == (["s5"], None)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.get("a b"),
        lambda s: s.list(limit=0),
        lambda s: s.list(tenant=""),
        lambda s: s.list(cursor="a b"),
        lambda s: s.create("x"),
        lambda s: s.trigger("daily", key=""),
        lambda s: s.next_times("daily", 0),
        lambda s: s.update("daily", [("paused", True)]),
    ],
)
async def test_arguments_are_checked(engine: Engine, call: Any) -> None:
    """Before anything is sent."""
    with pytest.raises(InvalidInput):
        await call(engine.schedules)

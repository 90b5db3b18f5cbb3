"""Wake-ups and timers with the real clock: nobody waits for a poll."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from holdfast import api
from holdfast.engine import Engine, open_engine
from holdfast.engine.claimer import Claimer
from holdfast.engine.ticker import Ticker
from holdfast.errors import ExecutionFailed
from holdfast.model.executions import Claim, Failure
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.testing.polling import wait_for

#: Far below every poll (1 s timers, 2 s claims, 5 s results), far above a busy machine's noise.
SOON_S = 0.4
#: What an idle system does; medians of a few rounds are compared with it.
PROMPT_S = 0.05
ROUNDS = 5


def _now() -> float:
    return asyncio.get_running_loop().time()


@contextlib.asynccontextmanager
async def _idle_claim(claimer: api.Claimer) -> AsyncIterator[asyncio.Future[list[Claim]]]:
    """Wait for one claim, and go on when the claimer sleeps."""
    assert isinstance(claimer, Claimer)
    waiting = asyncio.ensure_future(claimer.claim(1, 30_000, wait_ms=10_000))

    async def asleep() -> bool:
        return not claimer._hopeful and not claimer._woken.is_set()

    await wait_for(asleep)
    try:
        yield waiting
    finally:
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting


async def test_a_short_delay_is_claimed_when_it_is_due(live: Engine) -> None:
    """A delay of 50 ms ends after 50 ms, not at the next poll and never earlier."""
    late = []
    async with live.executions.claimer(worker="w") as claimer:
        for _ in range(ROUNDS):
            async with _idle_claim(claimer) as waiting:
                submitted = _now()
                made = await live.submit("work", delay_ms=50)
                accepted = _now()
                assert made.state is State.DELAYED
                (claim,) = await waiting
                # The store rounds its clock down to whole milliseconds.
                assert _now() - submitted >= 0.049
                late.append(_now() - accepted - 0.05)
            await live.complete(claim.id, claim.lease)
    assert statistics.median(late) < PROMPT_S
    assert max(late) < SOON_S


async def test_an_idle_claim_wakes_on_submit(live: Engine) -> None:
    """The time from submit to claim is that of two trips."""
    took = []
    async with live.executions.claimer(worker="w") as claimer:
        for _ in range(ROUNDS):
            async with _idle_claim(claimer) as waiting:
                started = _now()
                await live.submit("work")
                await waiting
                took.append(_now() - started)
    assert statistics.median(took) < PROMPT_S
    assert max(took) < SOON_S


async def test_a_waiter_for_a_result_is_woken(live: Engine) -> None:
    """Completion reaches the waiter at once."""
    took = []
    async with live.executions.claimer(worker="w") as claimer:
        for _ in range(ROUNDS):
            made = await live.submit("work")
            (claim,) = await claimer.claim(1, 30_000, wait_ms=5_000)
            waiting = asyncio.ensure_future(live.result(made.id))
            await _until_watched(live, made.id)
            started = _now()
            await live.complete(claim.id, claim.lease, b"42")
            assert await waiting == b"42"
            took.append(_now() - started)
    assert statistics.median(took) < PROMPT_S
    assert max(took) < SOON_S


async def _until_watched(live: Engine, execution_id: str) -> None:
    """Wait until the store knows that somebody waits for the execution."""
    key = f"{live.store.tag_of(execution_id)}:w:{execution_id}"

    async def watched() -> bool:
        return bool(await live.store.client.call(["EXISTS", key]))

    await wait_for(watched)


async def test_a_resumed_lane_wakes_its_workers(live: Engine) -> None:
    """What was held back is claimed at once."""
    await live.lanes.pause("default")
    made = await live.submit("work")
    async with live.executions.claimer(worker="w") as claimer, _idle_claim(claimer) as waiting:
        assert not waiting.done()
        started = _now()
        await live.lanes.resume("default")
        (claim,) = await waiting
        assert _now() - started < SOON_S
    assert claim.id == made.id


async def test_a_retry_wakes_a_worker_when_its_backoff_is_over(live: Engine) -> None:
    """A backoff of 30 ms is no second."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=30))
    await live.submit("work", retry=policy)
    async with live.executions.claimer(worker="w") as claimer:
        (first,) = await claimer.claim(1, 30_000, wait_ms=5_000)
        started = _now()
        state, _ = await live.fail(first.id, first.lease, Failure(type="E", message="m"))
        assert state is State.DELAYED
        (second,) = await claimer.claim(1, 30_000, wait_ms=5_000)
        assert 0.028 < _now() - started < SOON_S
    assert (second.id, second.attempt_kind) == (first.id, AttemptKind.RETRY)


async def test_a_revoked_lease_wakes_another_worker(live: Engine) -> None:
    """The execution is ready again at once."""
    made = await live.submit("work")
    async with (
        live.executions.claimer(worker="w1") as first,
        live.executions.claimer(worker="w2") as second,
    ):
        await first.claim(1, 30_000, wait_ms=5_000)
        async with _idle_claim(second) as waiting:
            started = _now()
            await live.revoke_lease(made.id, "stuck")
            (claim,) = await waiting
            assert _now() - started < SOON_S
    assert claim.id == made.id


async def test_a_lost_worker_is_noticed_when_its_lease_ends(live: Engine) -> None:
    """Nobody calls anything: the execution is back within moments of the expiry."""
    await live.submit("work")
    async with (
        live.executions.claimer(worker="w1") as first,
        live.executions.claimer(worker="w2") as second,
    ):
        (lost,) = await first.claim(1, 1_000, wait_ms=5_000)
        claimed = _now()
        (found,) = await second.claim(1, 30_000, wait_ms=5_000)
        assert 0.95 < _now() - claimed < 1 + SOON_S
    assert (found.id, found.attempt_kind) == (lost.id, AttemptKind.RECLAIM)


Ending = Callable[[Engine, Claim], Awaitable[object]]


@pytest.mark.parametrize(
    ("fields", "end", "state"),
    [
        pytest.param(
            {}, lambda live, claim: live.cancel(claim.id, "no more"), State.CANCELLED, id="cancel"
        ),
        pytest.param(
            {},
            lambda live, claim: live.fail(
                claim.id, claim.lease, Failure(type="E", message="no more")
            ),
            State.FAILED,
            id="fail",
        ),
        pytest.param(
            {"deadline_ms": 150}, lambda *_: asyncio.sleep(0), State.EXPIRED, id="deadline"
        ),
        pytest.param(
            {"attempt_timeout_ms": 150}, lambda *_: asyncio.sleep(0), State.FAILED, id="timeout"
        ),
    ],
)
async def test_every_end_wakes_those_who_wait(
    live: Engine, fields: dict[str, int], end: Ending, state: State
) -> None:
    """An end without a result is announced like one with a result."""
    made = await live.submit("work", **fields)
    async with live.executions.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000, wait_ms=5_000)
        waiting = asyncio.ensure_future(live.result(made.id))
        await _until_watched(live, made.id)
        started = _now()
        await end(live, claim)
        with pytest.raises(ExecutionFailed) as ended:
            await waiting
    assert ended.value.context["state"] == state
    assert _now() - started < 0.15 + SOON_S


async def test_an_earlier_timer_is_not_kept_waiting_by_a_later_one(live: Engine) -> None:
    """The maintenance loop sleeps for the first of all timers, whichever was set first."""
    ids = {}
    for delay_ms in (990, 900, 60):
        ids[delay_ms] = (await live.submit("work", delay_ms=delay_ms)).id
    started = _now()
    async with live.executions.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000, wait_ms=5_000)
    assert claim.id == ids[60]
    assert _now() - started < 0.06 + SOON_S


async def test_a_timer_set_while_a_tick_is_under_way_is_not_forgotten(
    real_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wake-up may overtake the answer of the tick, which then knows less than the wake-up."""
    async with open_engine(real_url, maintenance=False) as engine:
        ticker = Ticker(engine.store)
        tick = engine.store.timers.tick
        submitted: list[float] = []

        async def woken() -> bool:
            return ticker._woken.is_set()

        async def overtaken(tag: str, limit: int) -> tuple[int, int]:
            answer = await tick(tag, limit)
            if not submitted and tag != engine.store.global_tag:
                submitted.append(_now())
                await engine.submit("work", delay_ms=60)
                await wait_for(woken)
            return answer

        monkeypatch.setattr(engine.store.timers, "tick", overtaken)
        running = asyncio.ensure_future(ticker.run())
        try:
            async with engine.executions.claimer(worker="w") as claimer:
                assert await claimer.claim(1, 30_000, wait_ms=5_000)
                assert _now() - submitted[0] < 0.06 + SOON_S
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_a_claim_without_work_ends_after_its_wait(live: Engine) -> None:
    """Neither earlier nor at the next poll."""
    async with live.executions.claimer(worker="w") as claimer:
        started = _now()
        assert await claimer.claim(1, 30_000, wait_ms=100) == []
        assert 0.09 < _now() - started < 0.1 + SOON_S
        assert await claimer.claim(1, 30_000) == []


async def test_timers_fire_without_the_process_that_set_them(real_url: str) -> None:
    """Any process may tick; the one that submits need not."""
    async with open_engine(real_url, maintenance=False) as submitter:
        made = await submitter.submit("work", delay_ms=40)
        async with (
            open_engine(real_url) as keeper,
            keeper.executions.claimer(worker="w") as claimer,
        ):
            (claim,) = await claimer.claim(1, 30_000, wait_ms=5_000)
    assert claim.id == made.id


async def test_closing_an_engine_stops_its_loops(real_url: str) -> None:
    """Nothing goes on in the background, not even listening."""
    before = asyncio.all_tasks()
    async with open_engine(real_url) as engine:
        await engine.submit("work", delay_ms=5)
    assert asyncio.all_tasks() <= before

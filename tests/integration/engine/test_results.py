"""Waiting for the end of executions."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import ExecutionFailed, ExecutionNotFound, ResultNotReady
from holdfast.model.executions import Failure, Outcome
from holdfast.model.states import State
from tests.support.lifecycle import claim_one


def _now() -> float:
    return asyncio.get_running_loop().time()


async def test_waiting_ends_when_its_time_is_over(engine: Engine) -> None:
    """The error says which execution and how long."""
    made = await engine.submit("work")
    started = _now()
    with pytest.raises(ResultNotReady, match=made.id) as late:
        await engine.result(made.id, timeout_s=0.05)
    assert 0.04 < _now() - started < 1
    assert late.value.context["id"] == made.id


async def test_no_time_at_all_still_finds_what_has_ended(engine: Engine) -> None:
    """A timeout of zero is a look."""
    made = await engine.submit("work")
    with pytest.raises(ResultNotReady):
        await engine.wait(made.id, timeout_s=0)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease, b"1")
    assert (await engine.outcome(made.id)) is not None
    assert await engine.result(made.id, timeout_s=5) == b"1"


async def test_an_unknown_execution_is_not_waited_for(engine: Engine) -> None:
    """It would never end."""
    with pytest.raises(ExecutionNotFound):
        await engine.result("nobody", timeout_s=5)
    with pytest.raises(ExecutionNotFound):
        await engine.outcome("nobody")


async def test_all_who_wait_are_told(engine: Engine) -> None:
    """Many waiters of one process, one execution."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    waiting = [asyncio.ensure_future(engine.result(made.id, timeout_s=10)) for _ in range(50)]
    await asyncio.sleep(0)
    await engine.complete(made.id, claim.lease, b"all")
    assert await asyncio.gather(*waiting) == [b"all"] * 50


async def test_two_processes_that_wait_are_both_told(engine: Engine) -> None:
    """Each has a mailbox of its own."""
    other = Engine(engine.store)
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    waiting = [asyncio.ensure_future(e.result(made.id, timeout_s=3)) for e in (engine, other)]
    await asyncio.wait(waiting, timeout=0.05)
    await engine.complete(made.id, claim.lease, b"both")
    assert await asyncio.gather(*waiting) == [b"both"] * 2
    await other.close()


async def test_a_waiter_that_leaves_early_harms_nobody(engine: Engine) -> None:
    """The first waiter may go before the process has begun to listen."""
    made = await engine.submit("work")
    first = asyncio.ensure_future(engine.wait(made.id))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    async with asyncio.timeout(3):
        with pytest.raises(ResultNotReady):
            await engine.wait(made.id, timeout_s=0.05)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease, b"1")
    assert await engine.result(made.id, timeout_s=3) == b"1"


async def test_waiters_leave_nothing_behind(engine: Engine) -> None:
    """A process that waited for many executions remembers none of them."""
    made = await engine.submit("work")
    with pytest.raises(ResultNotReady):
        await engine.wait(made.id, timeout_s=0.01)
    assert not engine.executions._results._mailboxes._waiters
    await engine.close()
    assert not engine.store.subscriptions._handlers


async def test_an_outcome_is_none_until_the_end(engine: Engine) -> None:
    """Then it has the result and its type."""
    made = await engine.submit("work")
    assert await engine.outcome(made.id) is None
    claim = await claim_one(engine.store, made.id)
    assert await engine.outcome(made.id) is None
    await engine.complete(made.id, claim.lease, b"<a/>", content_type="text/xml")
    assert await engine.outcome(made.id) == Outcome(
        id=made.id,
        state=State.COMPLETED,
        result=b"<a/>",
        content_type="text/xml",
        error=None,
        reason=None,
    )


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1 << 20])
async def test_results_of_all_sizes_come_back_whole(engine: Engine, size: int) -> None:
    """Small ones live in the record, large ones beside it; an empty one is a result too."""
    payload = (b"\x00\xff\r\n" * (size // 4 + 1))[:size]
    made = await engine.submit("work", input=payload)
    claim = await claim_one(engine.store, made.id)
    assert claim.input == payload
    await engine.complete(made.id, claim.lease, payload)
    assert await engine.result(made.id, timeout_s=5) == payload


async def test_a_failure_is_raised_with_its_error(engine: Engine) -> None:
    """What the worker said arrives at who waited."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    failure = Failure(type="ValueError", message="no such user", details={"user": 7})
    await engine.fail(made.id, claim.lease, failure)
    with pytest.raises(ExecutionFailed, match="ended as failed: no such user") as failed:
        await engine.result(made.id, timeout_s=5)
    assert failed.value.context["state"] == State.FAILED
    assert failed.value.context["error"] == {
        "type": "ValueError",
        "message": "no such user",
        "details": {"user": 7},
    }


async def test_a_cancellation_is_raised_with_its_reason(engine: Engine) -> None:
    """The reason of the operator arrives at who waited."""
    made = await engine.submit("work")
    await engine.cancel(made.id, "not needed")
    with pytest.raises(ExecutionFailed, match="ended as cancelled: not needed"):
        await engine.result(made.id, timeout_s=5)
    await_outcome = await engine.wait(made.id, timeout_s=5)
    assert (await_outcome.state, await_outcome.reason) == (State.CANCELLED, "not needed")


async def test_a_replayed_execution_is_waited_for_again(engine: Engine) -> None:
    """The old result is not the answer."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease, b"old")
    await engine.replay(made.id)
    with pytest.raises(ResultNotReady):
        await engine.result(made.id, timeout_s=0.02)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease, b"new")
    assert await engine.result(made.id, timeout_s=5) == b"new"

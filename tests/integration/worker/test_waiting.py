"""Tasks that wait for people: typed answers, approvals, timeouts, and no slot while they wait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from holdfast import App, Context, Denied, Handle, SyncContext, WaitTimedOut
from holdfast.errors import (
    ExecutionFailed,
    InvalidInput,
    InvalidPayload,
    TaskError,
    WaitpointNotFound,
)
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, Source, Waitpoint, WaitpointState
from holdfast.testing import TestApp
from holdfast.testing.servers import TestServer
from holdfast.worker.waiting import TaskWaitpoint


class Decision(BaseModel):
    """What is decided."""

    amount: int


@pytest.fixture
async def t(single_server: TestServer) -> AsyncIterator[TestApp]:
    """An app under test on a settable clock."""
    async with TestApp(App(), server=single_server) as test_app:
        yield test_app


async def _open(handle: Handle[Any]) -> Waitpoint:
    (point,) = [one for one in await handle.waitpoints() if one.state is not WaitpointState.CLOSED]
    return point


def _by(identity: str) -> Source:
    return Source(type="user", identity=identity)


async def test_an_answer_arrives_typed(t: TestApp) -> None:
    """The payload is checked against the schema where it is sent, and typed where it arrives."""

    @t.app.task
    async def ask(ctx: Context) -> int:
        return (await ctx.wait_for("much", schema=Decision)).amount

    handle = await ask.submit()
    await t.run_until_idle()
    assert await handle.state() is State.SUSPENDED
    with pytest.raises(InvalidPayload, match="amount"):
        await handle.signal("much", {"amount": "a lot"})
    assert await handle.signal("much", {"amount": 40}) is Effect.RESUMED
    await t.run_until_idle()
    assert await t.result(handle) == 40
    assert (await handle.describe()).attempts == 1


async def test_a_plain_task_waits_in_the_same_way(t: TestApp) -> None:
    """It blocks where the other awaits, and gives its thread back."""

    @t.app.task
    def ask(ctx: SyncContext) -> list[str]:
        point = ctx.waitpoint("first", schema=str)
        return [
            ctx.wait_for(point),
            ctx.wait_for("second", schema=str),
            *(one.value for one in ctx.wait_until({"waitpoint": "third"}, "third")),
        ]

    handle = await ask.submit()
    for name in ("first", "second", "third"):
        await t.run_until_idle()
        assert await handle.signal(name, name.upper()) is Effect.RESUMED
    await t.run_until_idle()
    assert await t.result(handle) == ["FIRST", "SECOND", "THIRD"]


async def test_approvals_come_from_different_people(t: TestApp) -> None:
    """One who approves twice counts once, and its first payload is the one that counts."""

    @t.app.task
    async def pay(ctx: Context) -> list[int]:
        return [one.amount for one in await ctx.wait_for("pay", schema=Decision, approvers=2)]

    handle = await pay.submit()
    await t.run_until_idle()
    effects = [
        await handle.signal("pay", {"amount": number}, name="approve", source=_by(who))
        for number, who in enumerate(("ann", "ann", "ben"), 1)
    ]
    assert effects == [Effect.APPENDED, Effect.DUPLICATE, Effect.RESUMED]
    await t.run_until_idle()
    assert await t.result(handle) == [1, 3]


async def test_one_who_denies_ends_the_wait(t: TestApp) -> None:
    """Also when others have approved."""

    @t.app.task
    async def pay(ctx: Context) -> str:
        try:
            await ctx.wait_for("pay", approvers=2)
        except Denied as denied:
            return f"{denied.source.identity}: {denied.payload}"
        return "paid"

    handle = await pay.submit()
    await t.run_until_idle()
    assert await handle.signal("pay", name="approve", source=_by("ann")) is Effect.APPENDED
    assert await handle.signal("pay", "no", name="other", source=_by("ben")) is Effect.IGNORED
    assert await handle.signal("pay", "never", name="deny", source=_by("ben")) is Effect.RESUMED
    await t.run_until_idle()
    assert await t.result(handle) == "ben: never"


async def test_a_token_is_sent_out_before_the_wait(t: TestApp) -> None:
    """An answer that comes before the wait counts; the token is in no list and no journal."""
    sent: list[TaskWaitpoint[str]] = []

    @t.app.task
    async def ask(ctx: Context) -> str:
        point = await ctx.waitpoint("mail", schema=str, title="Which one?", uses=1)
        await ctx.step("send", send, point)
        return await ctx.wait_for(point, schema=str)

    async def send(point: TaskWaitpoint[str]) -> None:
        sent.append(point)
        signal = NewSignal(waitpoint=point.id, name="answer", payload=b'"this"')
        effect = await t.engine.waitpoints.signal(signal, point.token.reveal())
        assert effect is Effect.BUFFERED

    handle = await ask.submit()
    await t.run_until_idle()
    assert await t.result(handle) == "this"
    (point,) = sent
    link = point.link("https://answer.example/")
    assert link == f"https://answer.example/answer/{point.id}#{point.token.reveal()}"
    shown = repr(await t.engine.steps(handle.id)) + repr(await handle.waitpoints()) + repr(point)
    assert point.token.reveal() not in shown
    events = [event.event for event in await t.engine.history(handle.id)]
    assert "suspended" not in events


async def test_a_link_needs_an_address(monkeypatch: pytest.MonkeyPatch, t: TestApp) -> None:
    """From the call, or from the environment."""

    @t.app.task
    async def ask(ctx: Context) -> str:
        return (await ctx.waitpoint("mail")).link()

    monkeypatch.delenv("HOLDFAST_PUBLIC_URL", raising=False)
    with pytest.raises(TaskError, match="HOLDFAST_PUBLIC_URL"):
        await t.call(ask)
    monkeypatch.setenv("HOLDFAST_PUBLIC_URL", "https://me.example")
    assert (await t.run(ask)).startswith("https://me.example/answer/")
    odd = await ask.options(id="a/b").submit()
    await t.run_until_idle()
    assert (await t.result(odd)).startswith("https://me.example/answer/a%2Fb~w1#hf1.")


async def test_a_crash_before_the_answer_is_recorded_loses_nothing(t: TestApp) -> None:
    """The next attempt gets the same signals, and makes no second waitpoint."""

    @t.app.task
    async def ask(ctx: Context) -> str:
        point = await ctx.waitpoint("mail", schema=str)
        return await ctx.wait_for(point, schema=str)

    t.kill_after("waitpoint:mail:1")
    handle = await ask.submit()
    await t.run_until_idle()
    assert len(await handle.waitpoints()) == 1
    await handle.signal("mail", "yes")
    t.kill_after("wait:mail:1")
    await t.run_until_idle()
    assert await t.result(handle) == "yes"
    assert len(await handle.waitpoints()) == 1
    assert (await handle.describe()).reclaims == 2


async def test_each_round_of_a_loop_has_its_own_waitpoint(t: TestApp) -> None:
    """A conversation is a loop of waits under one name."""

    @t.app.task
    async def chat(ctx: Context) -> list[str]:
        return [await ctx.wait_for("message", schema=str) for _ in range(3)]

    handle = await chat.submit()
    for text in "abc":
        await t.run_until_idle()
        await handle.signal("message", text)
    await t.run_until_idle()
    assert await t.result(handle) == ["a", "b", "c"]
    assert [one.id[-3:] for one in await handle.waitpoints()] == ["~w1", "~w2", "~w3"]


@pytest.mark.parametrize(
    ("on_timeout", "state"),
    [("fail", State.FAILED), ("cancel", State.CANCELLED), ("expire", State.EXPIRED)],
)
async def test_a_timeout_may_end_the_execution(t: TestApp, on_timeout: Any, state: State) -> None:
    """Whatever its retries."""

    @t.app.task(retries=5)
    async def ask(ctx: Context) -> None:
        await ctx.wait_for("never", timeout=10, on_timeout=on_timeout)

    handle = await ask.submit()
    await t.run_until_idle(advance=False)
    await t.clock.advance_and_tick(9_999)
    assert await handle.state() is State.SUSPENDED
    await t.clock.advance_and_tick(1)
    assert await handle.state() is state


async def test_a_timeout_may_be_caught(t: TestApp) -> None:
    """The task goes on, and a replay of its journal tells the same."""

    @t.app.task
    async def ask(ctx: Context) -> str:
        try:
            return str(await ctx.wait_for("never", timeout=10))
        except WaitTimedOut:
            return await ctx.step("plan b", str, "plan b")

    t.kill_after("plan b")
    handle = await ask.submit()
    await t.run_until_idle()
    await t.clock.advance_and_tick(10_000)
    await t.run_until_idle()
    assert await t.result(handle) == "plan b"


async def test_an_escalated_wait_is_left_to_an_operator(t: TestApp) -> None:
    """Its timeout has no further effect, and both an answer and an operator can end it."""

    @t.app.task
    async def ask(ctx: Context) -> Any:
        return await ctx.wait_for("boss", timeout=10, on_timeout="escalate")

    handle = await ask.submit()
    await t.run_until_idle()
    await t.clock.advance_and_tick(60_000)
    assert "operator" in (await handle.explain()).why
    (item,) = (await t.engine.waitpoints.inbox()).items
    assert item.escalated
    await t.engine.waitpoints.resume(handle.id, b'"go"', identity="ops")
    await t.run_until_idle()
    assert await t.result(handle) == "go"


async def test_a_condition_over_several_waitpoints(t: TestApp) -> None:
    """All that fulfilled it is returned, in the order it came."""

    @t.app.task
    async def ship(ctx: Context) -> list[str]:
        condition = {
            "all": [{"waitpoint": "paid", "where": "payload > 10"}, {"waitpoint": "stock"}]
        }
        return [one.name for one in await ctx.wait_until(condition, "paid", "stock")]

    handle = await ship.submit()
    await t.run_until_idle()
    assert await handle.signal("paid", 5, name="little") is Effect.IGNORED
    assert await handle.signal("stock", name="there") is Effect.APPENDED
    assert await handle.signal("paid", 50, name="enough") is Effect.RESUMED
    await t.run_until_idle()
    assert await t.result(handle) == ["there", "enough"]


async def test_while_it_waits_no_slot_is_held(t: TestApp) -> None:
    """One slot, many that wait."""

    @t.app.task
    async def ask(ctx: Context) -> str:
        return await ctx.wait_for("x", schema=str)

    handles = await ask.submit_many([{}] * 20)
    assert await t.run_until_idle() == 20
    assert {await handle.state() for handle in handles} == {State.SUSPENDED}
    for handle in handles:
        await handle.signal("x", handle.id)
    await t.run_until_idle()
    assert [await t.result(handle) for handle in handles] == [handle.id for handle in handles]


async def test_explain_says_what_is_missing(t: TestApp) -> None:
    """And until when, and who may answer."""

    @t.app.task
    async def pay(ctx: Context) -> None:
        await ctx.wait_for("pay", approvers=2, timeout=60, answerers=["ann", "ben"])

    handle = await pay.submit()
    await t.run_until_idle(advance=False)
    await handle.signal("pay", name="approve", source=_by("ann"))
    told = await handle.explain()
    assert told.why == "It waits for approval by ben at pay; 1 min 0 s left, then WaitTimedOut."
    (hold,) = told.holds
    assert (hold["type"], hold["name"], hold["answerers"]) == ("waitpoint", "pay", ("ann", "ben"))
    assert hold["until"] == (await handle.describe()).wait_until


async def test_bad_requests_of_a_task_fail_it_at_once(t: TestApp) -> None:
    """An error of the code is no reason to try again."""

    @t.app.task(retries=3)
    async def wrong(ctx: Context, what: str) -> None:
        if what == "name":
            await ctx.wait_for("not a name")
        elif what == "timeout":
            await ctx.wait_for("x", on_timeout="explode")  # type: ignore[call-overload]
        elif what == "approvers":
            await ctx.wait_for("x", approvers=0)
        else:
            await ctx.wait_for(await ctx.waitpoint("x"), title="too late")

    for what in ("name", "timeout", "approvers", "title"):
        with pytest.raises(InvalidInput):
            await t.call(wrong, what)


async def test_a_signal_needs_somebody_who_waits(t: TestApp) -> None:
    """A handle knows waitpoints by name, while they are open."""

    @t.app.task
    async def ask(ctx: Context) -> None:
        await ctx.wait_for("x")

    handle = await ask.submit()
    with pytest.raises(WaitpointNotFound, match="does not wait at x"):
        await handle.signal("x")
    await t.run_until_idle()
    point = await _open(handle)
    await handle.cancel()
    assert (await handle.waitpoints())[0].why == "ended"
    with pytest.raises(WaitpointNotFound):
        await handle.signal(point.name)
    with pytest.raises(ExecutionFailed):
        await handle.result()

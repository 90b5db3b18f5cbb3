"""Steps run once and are answered from the journal afterwards."""

from __future__ import annotations

import asyncio
import functools
import warnings
from typing import Any

import pytest
from pydantic import BaseModel, Field

from holdfast import App, Context, GiveUp, SyncContext
from holdfast.engine import Engine
from holdfast.errors import ExecutionFailed, InvalidInput
from tests.integration.worker.conftest import Working, at_once

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


class Charge(BaseModel):
    """A typed result of a step."""

    amount: int
    card_number: str = Field(default="", alias="cardNumber")


class Crash(Exception):
    """Stands for whatever ends an attempt."""


async def fetch(x: int) -> int:
    """Return what a step may return."""
    await asyncio.sleep(0)
    return x + 1


def charge(amount: int) -> Charge:
    """Return a typed result."""
    return Charge(amount=amount)


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_completed_step_does_not_run_again(app: App, working: Working, kind: str) -> None:
    """The second attempt gets what the first recorded, as the same type."""
    ran: list[str] = []

    def record(name: str) -> Charge:
        ran.append(name)
        return Charge(amount=len(ran))

    if kind == "async":

        @app.task(name="pay", retries=at_once(2))
        async def pay(ctx: Context) -> list[int]:
            first = await ctx.step("first", record, "first")
            if ctx.attempt == 0:
                raise Crash
            second = await ctx.step("second", record, "second")
            return [first.amount, second.amount]

    else:

        @app.task(name="pay", retries=at_once(2))
        def pay(ctx: SyncContext) -> list[int]:
            first = ctx.step("first", record, "first")
            if ctx.attempt == 0:
                raise Crash
            second = ctx.step("second", record, "second")
            return [first.amount, second.amount]

    async with working():
        handle = await app.find("pay").submit()
        assert await handle.result(timeout=5) == [1, 2]
    assert ran == ["first", "second"]


async def test_steps_of_every_kind_of_function(app: App, working: Working) -> None:
    """Coroutine functions, plain functions, lambdas, partials, methods."""

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> list[Any]:
        results = [
            await ctx.step("coroutine", fetch, 1),
            await ctx.step("plain", charge, 5),
            await ctx.step("lambda", lambda: {"pair": (1, 2)}),
            await ctx.step("partial", functools.partial(fetch, 7)),
            await ctx.step("method", "text".upper),
            await ctx.step("nothing", dict[str, int]().get, "absent"),
        ]
        if ctx.attempt == 0:
            raise Crash(repr(results))
        return results

    async with working():
        result = await (await work.submit()).result(timeout=5)
    assert result[0] == 2
    assert result[1]["amount"] == 5
    assert result[2:] == [{"pair": [1, 2]}, 8, "TEXT", None]


async def test_a_step_gives_the_same_value_at_first_and_later(app: App, working: Working) -> None:
    """What is recorded is what both attempts see, a tuple that becomes a list included."""
    seen: list[Any] = []

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> None:
        seen.append(await ctx.step("a", lambda: {"pair": (1, 2)}))
        seen.append(await ctx.step("b", charge, 3))
        if ctx.attempt == 0:
            raise Crash

    async with working():
        await (await work.submit()).result(timeout=5)
    assert seen[:2] == seen[2:] == [{"pair": [1, 2]}, Charge(amount=3)]


async def test_a_step_may_return_bytes(app: App, working: Working) -> None:
    """They are recorded as they are."""

    def image() -> bytes:
        return b"\x00\xff"

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> int:
        found = await ctx.step("image", image)
        if ctx.attempt == 0:
            raise Crash
        return len(found)

    async with working():
        assert await (await work.submit()).result(timeout=5) == 2


async def test_a_step_may_return_a_model_with_aliases(app: App, working: Working) -> None:
    """What was recorded can be read again."""

    def card() -> Charge:
        return Charge(amount=1, cardNumber="42")

    @app.task
    async def work(ctx: Context) -> str:
        return (await ctx.step("card", card)).card_number

    async with working():
        assert await (await work.submit()).result(timeout=5) == "42"


async def test_a_failing_step_is_tried_again_in_place(app: App, working: Working) -> None:
    """Without using up an attempt."""
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError
        return "done"

    @app.task
    async def work(ctx: Context) -> str:
        return await ctx.step("flaky", flaky, retries=2)

    @app.task
    def plain(ctx: SyncContext) -> str:
        return ctx.step("flaky", flaky, retries=2)

    async with working():
        for task in (work, plain):
            tries.clear()
            handle = await task.submit()
            assert await handle.result(timeout=5) == "done"
            assert len(tries) == 3
            assert (await handle.describe()).attempts == 1


async def test_a_step_that_stays_broken_raises_its_error(app: App, working: Working) -> None:
    """The task may catch it and go on; nothing is recorded under its name."""

    @app.task
    async def work(ctx: Context) -> str:
        try:
            await ctx.step("broken", int, "x", retries=1)
        except ValueError as error:
            return await ctx.step("instead", str, error)
        return "not reached"

    async with working():
        handle = await work.submit()
        assert "invalid literal" in await handle.result(timeout=5)
    assert [step.name for step in await app.engine.steps(handle.id)] == ["instead"]


async def test_giving_up_inside_a_step_is_final(app: App, working: Working) -> None:
    """Neither the step nor the task is tried again."""
    tries: list[int] = []

    def hopeless() -> None:
        tries.append(1)
        raise GiveUp("no such account")

    @app.task(retries=at_once(3))
    async def work(ctx: Context) -> None:
        await ctx.step("hopeless", hopeless, retries=2)

    async with working():
        with pytest.raises(ExecutionFailed, match="no such account"):
            await (await work.submit()).result(timeout=5)
    assert len(tries) == 1


async def test_negative_retries_of_a_step_are_refused(app: App, working: Working) -> None:
    """By name, before the step runs."""

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.step("a", lambda: None, retries=-1)

    async with working():
        with pytest.raises(ExecutionFailed, match="retries") as failed:
            await (await work.submit()).result(timeout=5)
    assert failed.value.context["error"]["type"] == InvalidInput.code


async def test_a_repeated_name_fails_by_name(app: App, working: Working) -> None:
    """The second step does not run."""
    ran: list[int] = []

    @app.task
    async def work(ctx: Context) -> None:
        for n in range(2):
            await ctx.step("charge", ran.append, n)

    async with working():
        with pytest.raises(ExecutionFailed, match="two steps are called 'charge'") as failed:
            await (await work.submit()).result(timeout=5)
    assert failed.value.context["error"]["type"] == "duplicate_step"
    assert ran == [0]


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb"])
async def test_a_name_that_the_store_refuses_is_named(
    app: App, working: Working, name: str
) -> None:
    """Trying again would not help, so it is final."""

    @app.task(retries=at_once(3))
    async def work(ctx: Context) -> None:
        await ctx.step(name, lambda: None)

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed, match="step: "):
            await handle.result(timeout=5)
    assert (await handle.describe()).attempts == 1


async def test_a_step_that_breaks_its_promise_is_not_recorded(
    app: App, working: Working, engine: Engine
) -> None:
    """Recorded, it would fail in every later attempt too."""
    answers = iter(["not a number", 7])

    def measure() -> int:
        return next(answers)  # type: ignore[return-value]

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> int:
        return await ctx.step("measure", measure)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        async with working():
            handle = await work.submit()
            assert await handle.result(timeout=5) == 7
    assert [step.result for step in await engine.steps(handle.id)] == [b"7"]


async def test_the_key_for_other_systems_is_the_same_in_every_attempt(
    app: App, working: Working, engine: Engine
) -> None:
    """Another step has another key, and so has a replay."""
    keys: list[tuple[str, str]] = []

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> None:
        keys.append((ctx.idempotency_key("charge"), ctx.idempotency_key("mail")))
        if ctx.attempt == 0:
            raise Crash

    async with working():
        handle = await work.submit()
        await handle.result(timeout=5)
        await engine.replay(handle.id)
        await handle.result(timeout=5)
    assert keys[0] == keys[1]
    assert keys[0][0] != keys[0][1]
    assert set(keys[0]).isdisjoint(keys[2])

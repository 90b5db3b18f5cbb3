"""How attempts end: retries, giving up, and everything that a handler may do wrong."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import App, Context, GiveUp, Retry, RetryPolicy, SyncContext, Task
from holdfast.client import Client
from holdfast.engine import Engine, open_engine
from holdfast.errors import ExecutionFailed, NotSerializable
from holdfast.model import bounds
from holdfast.model.states import State
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.store.store import StoreSettings
from holdfast.store.valkey import failures
from holdfast.store.valkey.wire import Command
from tests.integration.worker.conftest import Working, at_once
from tests.support.fault_injection import before_calls

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True


class Sinister(BaseException):
    """Not an Exception, so that no broad handler sees it."""


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


async def test_a_failing_task_is_tried_as_often_as_it_may(
    app: App, working: Working, engine: Engine
) -> None:
    """Then its last error is the outcome."""

    @app.task(retries=at_once(3))
    async def work(ctx: Context) -> None:
        raise ValueError(f"attempt {ctx.attempt}")

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed, match="attempt 2"):
            await handle.result(timeout=5)
    errors = [attempt.error for attempt in await engine.attempts(handle.id)]
    assert [error and error["message"] for error in errors] == [f"attempt {n}" for n in range(3)]


async def test_a_retry_says_when(app: App, working: Working) -> None:
    """It replaces a backoff that would outlast the test."""
    started: list[float] = []

    @app.task(retries=5)
    async def work(ctx: Context) -> int:
        started.append(time.monotonic())
        if ctx.attempt == 0:
            raise Retry("busy", after=0.2)
        if ctx.attempt == 1:
            raise Retry(after=0)
        return ctx.attempt

    async with working():
        assert await (await work.submit()).result(timeout=5) == 2
    assert 0.2 <= started[1] - started[0] < 0.9
    assert started[2] - started[1] < 0.9


async def test_a_retry_uses_up_the_policy(app: App, working: Working) -> None:
    """Without one there is one attempt."""

    @app.task
    async def work() -> None:
        raise Retry("busy", after=0)

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed, match="busy"):
            await handle.result(timeout=5)
    assert (await handle.describe()).attempts == 1


async def test_giving_up_is_final(app: App, working: Working) -> None:
    """In plain functions as well."""

    @app.task(retries=at_once(5))
    def work() -> None:
        raise GiveUp("no such account")

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed, match="no such account") as failed:
            await handle.result(timeout=5)
    assert failed.value.context["error"]["type"] == "GiveUp"
    assert (await handle.describe()).attempts == 1


async def test_an_error_type_of_the_policy_is_final(app: App, working: Working) -> None:
    """Types are the names of their classes."""

    @app.task(retries=RetryPolicy(max_attempts=5, give_up_on=("KeyError",)))
    def work() -> None:
        raise KeyError("x")

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed):
            await handle.result(timeout=5)
    assert (await handle.describe()).attempts == 1


def empty() -> None:
    """Leak the exception by which iterators end."""
    next(iter(()))


def emoji() -> None:
    """Raise a message that is larger in bytes than in characters."""
    raise ValueError("🎈" * 10_000)


def impossible_retry() -> None:
    """Ask for a retry in the past."""
    raise Retry(after=-5)


def sinister() -> None:
    """Raise what is no Exception."""
    raise Sinister


def mute() -> None:
    """Raise an error whose text cannot be had."""
    raise Mute


def cancelled() -> None:
    """Let the cancellation of something else escape."""
    raise asyncio.CancelledError


def unserialisable() -> Any:
    """Return what cannot be JSON."""
    return object()


def oversized() -> Any:
    """Return more than the store takes."""
    return "x" * (bounds.PAYLOAD_BYTES + 1)


MISDEEDS = (
    empty, emoji, impossible_retry, sinister, mute, cancelled, unserialisable, oversized,
)  # fmt: skip


@pytest.mark.timeout(15)
@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_whatever_a_task_does_ends_its_attempt_only(
    app: App, working: Working, kind: str, misdeed: Callable[[], Any]
) -> None:
    """The execution fails at once, and the worker goes on with its one slot."""

    @app.task(name="async")
    async def coroutine_function() -> Any:
        return misdeed()

    @app.task(name="plain")
    def function() -> Any:
        return misdeed()

    @app.task
    async def other() -> str:
        return "ran"

    async with working(slots=1, threads=1):
        handle = await app.find(kind).submit()
        try:
            with pytest.raises(ExecutionFailed):
                await handle.result(timeout=0.8)
        finally:
            if not (await handle.state()).is_terminal:
                await handle.cancel()
        assert (await handle.describe()).attempts == 1
        assert await (await other.submit()).result(timeout=5) == "ran"


async def test_an_oversized_step_ends_its_attempt(app: App, working: Working) -> None:
    """By name and limit, without a retry."""

    @app.task(retries=at_once(3))
    async def work(ctx: Context) -> None:
        await ctx.step("large", oversized)

    async with working():
        with pytest.raises(ExecutionFailed, match="over the limit") as failed:
            await (await work.submit()).result(timeout=5)
    assert failed.value.context["error"]["type"] == "too_large"


async def test_progress_is_shown_while_it_runs(app: App, working: Working) -> None:
    """From async and plain functions; a wrong one is refused."""
    seen: list[tuple[float | None, str | None]] = []

    async def look(execution_id: str) -> None:
        described = await app.engine.describe(execution_id)
        seen.append((described.progress_pct, described.progress_message))

    @app.task
    async def work(ctx: Context) -> None:
        await ctx.progress(12.5, "an eighth")
        await look(ctx.id)

    @app.task
    def plain(ctx: SyncContext) -> None:
        ctx.progress(50)
        asyncio.run_coroutine_threadsafe(look(ctx.id), loop).result()

    @app.task
    async def wrong(ctx: Context) -> None:
        await ctx.progress(101)

    loop = asyncio.get_running_loop()
    async with working():
        for task in (work, plain):
            await (await task.submit()).result(timeout=5)
        with pytest.raises(ExecutionFailed, match="pct: "):
            await (await wrong.submit()).result(timeout=5)
    assert [pct for pct, _ in seen] == [12.5, 50]
    assert seen[0][1] == "an eighth"


async def test_the_context_knows_the_execution(app: App, working: Working) -> None:
    """Id, attempt, deadline, clock, claim; in both kinds of function."""

    def facts(ctx: Context | SyncContext) -> list[Any]:
        assert ctx.deadline is not None
        left = (ctx.deadline - ctx.now()).total_seconds()
        age = (ctx.now() - ctx.claim.created_at).total_seconds()
        return [ctx.id, ctx.attempt, 50 < left <= 60, -0.1 < age < 5, dict(ctx.claim.tags)]

    @app.task(deadline=60, tags={"a": "b"})
    async def work(ctx: Context) -> list[Any]:
        return facts(ctx)

    @app.task(deadline=60, tags={"a": "b"})
    def plain(ctx: SyncContext) -> list[Any]:
        return facts(ctx)

    async with working():
        for task in (work, plain):
            handle = await task.submit()
            assert await handle.result(timeout=5) == [handle.id, 0, True, True, {"a": "b"}]


async def test_the_logger_knows_the_execution(
    app: App, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """Every line can be found by tenant, execution, kind and attempt."""

    @app.task
    async def work(ctx: Context) -> None:
        ctx.logger.warning("half way")

    async with working():
        handle = await work.submit()
        await handle.result(timeout=5)
    (record,) = [r for r in caplog.records if r.name == "holdfast.task.work"]
    found = (record.__dict__[name] for name in ("tenant", "execution", "kind", "attempt"))
    assert tuple(found) == ("default", handle.id, "work", 0)


async def test_a_failed_attempt_is_logged_with_the_traceback_of_its_author(
    app: App, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """Without frames of Holdfast; one that asked for a retry has said why."""

    @app.task(retries=1)
    async def work(ctx: Context) -> None:
        if ctx.attempt == 0:
            raise Retry("not now", after=0)
        raise ValueError("no stock")

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed):
            await handle.result(timeout=5)
    first, second = [r for r in caplog.records if r.name == "holdfast.worker.runner"]
    assert (first.__dict__["kind"], first.exc_info) == ("work", None)
    assert second.exc_info is not None
    lines = [frame.name for frame in traceback.extract_tb(second.exc_info[2])]
    assert lines == ["work"]
    assert (second.__dict__["execution"], second.__dict__["attempt"]) == (handle.id, 1)


async def test_a_result_without_a_json_form_names_the_task_and_the_step(
    app: App, working: Working
) -> None:
    """Of a step, of a step in a thread, and of the task itself."""

    @app.task(name="shop.step")
    async def step(ctx: Context) -> None:
        await ctx.step("look up", object)

    @app.task(name="shop.thread")
    def thread(ctx: SyncContext) -> None:
        ctx.step("look up", object)

    @app.task(name="shop.result")
    async def result() -> Any:
        return object()

    @app.task(name="shop.misfit")
    async def misfit() -> list[int]:
        return ["many"]  # type: ignore[list-item]

    places: dict[Task[..., Any, Any], str] = {
        step: "step 'look up' of task shop.step",
        thread: "step 'look up' of task shop.thread",
        result: "task shop.result",
        misfit: "task shop.misfit cannot be stored: 0: Input should be a valid integer",
    }
    async with working():
        for task, place in places.items():
            handle = await task.submit()
            with pytest.raises(ExecutionFailed) as failed:
                await handle.result(timeout=5)
            error = failed.value.context["error"]
            assert error["type"] == "not_serializable"
            assert f"the result of {place}" in error["message"]


async def test_an_argument_without_a_json_form_is_refused_at_the_caller(
    app: App, working: Working
) -> None:
    """With its name."""

    @app.task
    async def work(value: Any) -> None: ...

    async with working():
        with pytest.raises(NotSerializable, match="task work: parameter value"):
            await work.submit(object())


async def test_a_task_past_its_deadline_is_expired(app: App, working: Working) -> None:
    """Whether it runs or not."""

    @app.task(deadline=0.1)
    async def work() -> None:
        await asyncio.Event().wait()

    async with working():
        handle = await work.submit()
        with pytest.raises(ExecutionFailed) as failed:
            await handle.result(timeout=5)
    assert failed.value.context["state"] is State.EXPIRED


async def test_a_far_worker_insists_on_an_end_while_a_part_of_the_store_is_away(
    real_url: str,
) -> None:
    """As it does when the whole store is away; the ends that travel with it do not matter."""
    settings = StoreSettings(call_timeout_ms=100)
    async with (
        open_engine(f"{real_url}&partitions=16", settings) as engine,
        serving(engine, ServerSettings(port=0)) as (_, url),
        Client(url) as client,
    ):
        for _ in range(20):
            await engine.submit("work")
        async with engine.claimer(worker="w") as claimer:
            claims = await claimer.claim(20, 30_000)
        away, tries = engine.store.tag_of(claims[0].id), 0

        async def fail(command: Command) -> None:
            nonlocal tries
            if command[1] == "hf_execution_complete_all" and command[3] == away and tries < 8:
                tries += 1
                raise failures.not_sent("away")

        with before_calls(engine.store.client, fail):
            await asyncio.gather(*(client.complete(one.id, one.lease, b"1") for one in claims))
        assert tries == 8
        assert {(await engine.describe(one.id)).state for one in claims} == {State.COMPLETED}


async def test_a_result_that_the_store_refuses_fails_its_attempt_only(
    app: App, working: Working
) -> None:
    """Those that are recorded in the same call do not suffer from it."""

    @app.task
    async def reserved() -> bytes:
        return b"\x00hfs\x01"

    @app.task
    async def fine() -> int:
        return 1

    bad = await reserved.submit()
    others = [await fine.submit() for _ in range(5)]
    async with working(lease_ms=30_000):
        for other in others:
            assert await other.result(timeout=5) == 1
        with pytest.raises(ExecutionFailed, match="reserved marker"):
            await bad.result(timeout=5)

"""What a running task can do: record steps, sleep, submit children, report progress.

`Context` is for `async def` tasks, `SyncContext` for `def` tasks, which run in a thread.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import logging
import random
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import (
    TYPE_CHECKING,
    Any,
    ParamSpec,
    TypeVar,
    TypeVarTuple,
    get_type_hints,
    overload,
)

from holdfast.engine import Engine
from holdfast.engine.tracing import Trace
from holdfast.errors import LeaseLost
from holdfast.model import checks, limits
from holdfast.model.executions import Claim
from holdfast.model.moments import to_ms as moment_ms
from holdfast.worker.durations import Duration, to_ms
from holdfast.worker.encoding import Encoding
from holdfast.worker.handle import Handle
from holdfast.worker.journal import Journal
from holdfast.worker.outcomes import AttemptLost, AttemptPaused, ControlFlow, GiveUp
from holdfast.worker.pools import ThreadPool
from holdfast.worker.slots import Slots

if TYPE_CHECKING:
    from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")

#: A shorter sleep keeps its slot: giving the lease back and claiming again costs more.
SHORTEST_PAUSE_MS = 1_000
_STEP_BACKOFF_S, _STEP_BACKOFF_MOST_S = 0.1, 10.0

_ANY = Encoding("result of a step", Any)


class Context:
    """The running attempt of an `async def` task."""

    def __init__(self, engine: Engine, claim: Claim, lease_ms: int, slots: Slots) -> None:
        self._engine = engine
        self._claim = claim
        self._slots = slots
        self._journal = Journal(claim.id, claim.steps)
        self._lease_ms = lease_ms
        self._claimed_on_clock = time.monotonic()
        self._children = 0
        self._waits = 0
        self.trace: Trace = Trace()
        self._main = asyncio.current_task()
        #: The lease is gone; set once, from the event loop.
        self.lost: bool = False
        #: The worker stops and the attempt goes on elsewhere.
        self.released: bool = False
        #: For a thread: set together with `lost`, and what it waits for.
        self.lost_event: threading.Event | None = None
        self.waiting: concurrent.futures.Future[Any] | None = None

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that knows tenant, execution and attempt."""
        claim = self._claim
        return logging.LoggerAdapter(
            logging.getLogger(f"holdfast.task.{claim.kind}"),
            {"tenant": claim.tenant, "execution": claim.id, "attempt": claim.lease.attempt},
        )

    def lose(self) -> None:
        """Say that the lease is gone."""
        self.lost = True
        if self.lost_event is not None:
            self.lost_event.set()
        if self.waiting is not None:
            self.waiting.cancel()

    @property
    def id(self) -> str:
        """The id of the execution."""
        return self._claim.id

    @property
    def claim(self) -> Claim:
        """The claim, with everything that is known about the execution."""
        return self._claim

    @property
    def attempt(self) -> int:
        """The index of this attempt, from 0."""
        return self._claim.lease.attempt

    @property
    def deadline(self) -> datetime | None:
        """When the execution expires."""
        return self._claim.deadline_at

    @property
    def journal(self) -> Journal:
        """The step journal of this attempt."""
        return self._journal

    def now(self) -> datetime:
        """Return the time on the store's clock."""
        claimed_at = self._claim.expires_at - timedelta(milliseconds=self._lease_ms)
        return claimed_at + timedelta(seconds=time.monotonic() - self._claimed_on_clock)

    def idempotency_key(self, step: str) -> str:
        """Return a key for another system, the same in every attempt at this step."""
        return f"{self._claim.id}:{self._claim.replays}:{step}"

    def check(self) -> None:
        """Raise through the task if its lease is lost; every call of the context does it."""
        if self.lost:
            raise AttemptLost(f"execution {self.id} is no longer ours")

    @overload
    def step(
        self,
        name: str,
        fn: Callable[[*Ts], Coroutine[Any, Any, R]],
        *args: *Ts,
        retries: int = 0,
    ) -> Awaitable[R]: ...
    @overload
    def step(
        self, name: str, fn: Callable[[*Ts], R], *args: *Ts, retries: int = 0
    ) -> Awaitable[R]: ...
    def step(  # type: ignore[misc]
        self, name: str, fn: Callable[..., Any], *args: Any, retries: int = 0
    ) -> Any:
        """Run a function once and record its result under a name.

        A later attempt gets the recorded result. With `retries` a function that raises is tried
        again, after a growing pause, before the step fails.
        """
        checks.integer("retries", retries, 0, limits.MAX_ATTEMPTS)
        self._ask(name)
        return self._run_step(name, fn, args, retries)

    def _ask(self, name: str) -> None:
        # Outside the task of the handler itself, others may be on their way, too.
        self._journal.ask(name, parallel=asyncio.current_task() is not self._main)

    async def _run_step(
        self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], retries: int
    ) -> Any:
        encoding = _result_encoding(fn)
        try:
            self.check()
            found = self._journal.find(name)
            if found is None:
                with self.trace.step(name):
                    value = await _try_step(fn, args, retries)
                found = await self.record(name, encoding.encode(value))
            return encoding.decode(found)
        finally:
            self._journal.settle()

    async def record(self, name: str, result: bytes) -> bytes:
        """Write a step to the store; returns what is recorded."""
        self.check()
        try:
            return await self._engine.checkpoint(self.id, self._claim.lease, name, result)
        except LeaseLost as error:
            self.lose()
            raise AttemptLost(str(error)) from error

    async def gather(self, *steps: Awaitable[R]) -> list[R]:
        """Run steps in parallel; the first that fails cancels the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_as_coroutine(step)) for step in steps]
        except BaseExceptionGroup as problems:
            raise _first(problems) from None
        return [task.result() for task in tasks]

    async def sleep(self, duration: Duration, *, name: str | None = None) -> None:
        """Sleep durably; a long sleep gives the worker's slot back and survives crashes."""
        wake_at = await self.wake_time(to_ms("duration", duration), name)
        left_ms = wake_at - moment_ms(self.now())
        if left_ms >= SHORTEST_PAUSE_MS:
            raise AttemptPaused(left_ms)
        if left_ms > 0:
            await asyncio.sleep(left_ms / 1000)

    async def wake_time(self, duration_ms: int, name: str | None) -> int:
        """Return when a sleep ends, recorded at its first start, in ms."""
        name = name or self._journal.number("sleep")
        self._ask(name)
        try:
            self.check()
            found = self._journal.find(name)
            if found is None:
                wake_at = moment_ms(self.now()) + duration_ms
                found = await self.record(name, str(wake_at).encode())
            return int(found)
        finally:
            self._journal.settle()

    async def progress(self, pct: float, message: str = "") -> None:
        """Report how far the task is, 0 to 100."""
        self.check()
        try:
            await self._engine.progress(self.id, self._claim.lease, pct, message)
        except LeaseLost as error:
            self.lose()
            raise AttemptLost(str(error)) from error

    async def submit(
        self, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> Handle[R]:
        """Submit a child; a later attempt finds the same child again.

        Children are told apart by the order of their submission, so submit them in a fixed order.
        """
        self.check()
        self._children += 1
        child = f"{self.id}~{self._claim.replays}.{self._children}"
        return await task.options(id=child, tenant=self._claim.tenant).submit(*args, **kwargs)

    @contextlib.asynccontextmanager
    async def _slot_lent(self) -> AsyncIterator[None]:
        """Lend the slot while this attempt waits, however many things it waits for at once."""
        self._waits += 1
        if self._waits == 1:
            self._slots.give_back()
        try:
            yield
        finally:
            # The last one takes it back: until then the attempt still waits.
            self._waits -= 1
            if self._waits == 0:
                self._slots.take(1)

    async def result(self, handle: Handle[R]) -> R:
        """Wait for a child without holding a slot; its failure is raised as ExecutionFailed."""
        self.check()
        async with self._slot_lent():
            with self.trace.wait(handle.id):
                return await self._result(handle)

    async def _result(self, handle: Handle[R]) -> R:
        result = asyncio.ensure_future(handle.result())
        closing = asyncio.ensure_future(self._slots.wait_closed())
        try:
            await asyncio.wait({result, closing}, return_when=asyncio.FIRST_COMPLETED)
            if not result.done():
                # The worker stops: wait for the child elsewhere.
                raise AttemptPaused(SHORTEST_PAUSE_MS)
            return result.result()
        finally:
            result.cancel()
            closing.cancel()


class SyncContext:
    """The running attempt of a `def` task, in a thread: it blocks where Context awaits."""

    def __init__(
        self, context: Context, loop: asyncio.AbstractEventLoop, threads: ThreadPool
    ) -> None:
        self._context = context
        self._threads = threads
        self._loop = loop
        self._lost = context.lost_event = threading.Event()
        self.logger: logging.LoggerAdapter[logging.Logger] = context.logger

    @property
    def id(self) -> str:
        """The id of the execution."""
        return self._context.id

    @property
    def claim(self) -> Claim:
        """The claim, with everything that is known about the execution."""
        return self._context.claim

    @property
    def attempt(self) -> int:
        """The index of this attempt, from 0."""
        return self._context.attempt

    @property
    def deadline(self) -> datetime | None:
        """When the execution expires."""
        return self._context.deadline

    def now(self) -> datetime:
        """Return the time on the store's clock."""
        return self._context.now()

    def idempotency_key(self, step: str) -> str:
        """Return a key for another system, the same in every attempt at this step."""
        return self._context.idempotency_key(step)

    def check(self) -> None:
        """Raise through the task if its lease is lost; call it in long computations."""
        self._context.check()

    def step(self, name: str, fn: Callable[[*Ts], R], *args: *Ts, retries: int = 0) -> R:
        """Run a function once, in this thread, and record its result under a name."""
        checks.integer("retries", retries, 0, limits.MAX_ATTEMPTS)
        journal, encoding = self._context.journal, _result_encoding(fn)
        journal.ask(name)
        try:
            self.check()
            found = journal.find(name)
            if found is None:
                with self._context.trace.step(name):
                    value = _try_step_blocking(fn, args, retries)
                found = self._wait(self._context.record(name, encoding.encode(value)))
            result: R = encoding.decode(found)
            return result
        finally:
            journal.settle()

    def sleep(self, duration: Duration, *, name: str | None = None) -> None:
        """Sleep durably; a long sleep gives the worker's slot back and survives crashes."""
        wake_at = self._wait(self._context.wake_time(to_ms("duration", duration), name))
        left_ms = wake_at - moment_ms(self.now())
        if left_ms >= SHORTEST_PAUSE_MS:
            raise AttemptPaused(left_ms)
        self._lost.wait(max(left_ms, 0) / 1000)
        self.check()

    def progress(self, pct: float, message: str = "") -> None:
        """Report how far the task is, 0 to 100."""
        self._wait(self._context.progress(pct, message))

    def submit(self, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submit a child; a later attempt finds the same child again."""
        return self._wait(self._context.submit(task, *args, **kwargs))

    def result(self, handle: Handle[R]) -> R:
        """Wait for a child; its failure is raised as ExecutionFailed."""
        with self._threads.lent():
            return self._wait(self._context.result(handle))

    def _wait(self, coroutine: Coroutine[Any, Any, R]) -> R:
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._context.waiting = waiting
        try:
            self.check()
            return waiting.result()
        except concurrent.futures.CancelledError:
            self.check()
            raise
        finally:
            self._context.waiting = None


def _first(problems: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what a group of parallel steps raises as one: control flow first, else the first."""
    signals = problems.subgroup(ControlFlow)
    found: BaseException = signals or problems
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


async def _as_coroutine(step: Awaitable[R]) -> R:
    return await step


def _result_encoding(fn: Callable[..., Any]) -> Encoding:
    """Return how the result of a step is stored: by the hint of its function, if it has one."""
    try:
        returns = get_type_hints(fn).get("return", Any)
    except (NameError, TypeError):
        return _ANY
    return _ANY if returns is Any else Encoding("result of the step", returns)


def _pause(tried: int) -> float:
    longest: float = min(_STEP_BACKOFF_MOST_S, _STEP_BACKOFF_S * 2**tried)
    return longest * random.uniform(0.5, 1)  # noqa: S311


async def _try_step(fn: Callable[..., Any], args: tuple[Any, ...], retries: int) -> Any:
    for tried in range(retries + 1):
        try:
            value = fn(*args)
            return await value if inspect.isawaitable(value) else value
        except Exception as error:
            if tried == retries or isinstance(error, GiveUp):
                raise
            await asyncio.sleep(_pause(tried))
    raise AssertionError


def _try_step_blocking(fn: Callable[..., Any], args: tuple[Any, ...], retries: int) -> Any:
    for tried in range(retries + 1):
        try:
            return fn(*args)
        except Exception as error:
            if tried == retries or isinstance(error, GiveUp):
                raise
            time.sleep(_pause(tried))
    raise AssertionError

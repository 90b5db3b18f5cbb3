"""The context of a running task: record steps, sleep, submit children, report progress.

`Context` is for `async def` tasks; sync_context.py has the one for `def` tasks.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    NoReturn,
    ParamSpec,
    TypeVar,
    TypeVarTuple,
    Unpack,
    overload,
)

from holdfast.api import Engine
from holdfast.errors import LeaseLost, TaskError
from holdfast.model import bounds, checks
from holdfast.model.bonds import OnParentEnd, check_policy
from holdfast.model.executions import Claim
from holdfast.model.frames import NewFrame
from holdfast.model.moments import to_ms as moment_ms
from holdfast.model.waitpoints import NewWaitpoint, Signal
from holdfast.tracing import Trace
from holdfast.worker import logs
from holdfast.worker.budget import ContextBudget
from holdfast.worker.children import Children
from holdfast.worker.durations import Duration, to_ms
from holdfast.worker.encoding import Encoding
from holdfast.worker.gathering import gathered
from holdfast.worker.graphs import Graph
from holdfast.worker.handle import Handle
from holdfast.worker.holding import Holding, lost
from holdfast.worker.inbox import Signals
from holdfast.worker.journal import Journal
from holdfast.worker.lending import SHORTEST_PAUSE_MS, LentSlot
from holdfast.worker.outcomes import AttemptLost, AttemptPaused, Continued
from holdfast.worker.slots import Slots
from holdfast.worker.stepping import run_step
from holdfast.worker.streaming import Stream
from holdfast.worker.versions import Versions
from holdfast.worker.waiting import (
    Approvers,
    OnTimeout,
    TaskWaitpoint,
    Waiting,
    WaitOptions,
    WaitpointOptions,
)

if TYPE_CHECKING:
    from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M")
Ts = TypeVarTuple("Ts")


class Context:
    """The running attempt of an `async def` task."""

    def __init__(
        self,
        engine: Engine,
        claim: Claim,
        lease_ms: int,
        slots: Slots,
        *,
        attempt: asyncio.Task[Any] | None = None,
        keep_logs: str | None = None,
        encode_input: Callable[..., bytes] | None = None,
    ) -> None:
        self._engine = engine
        self._claim = claim
        #: The step journal of this attempt.
        self.journal: Journal = Journal(claim.id, claim.steps)
        self._lease_ms = lease_ms
        self._claimed_on_clock = time.monotonic()
        self._slots = slots
        self._stream: Stream | None = None
        self.trace: Trace = Trace()
        #: The asyncio task of the attempt, if that is not the current one.
        self._main = attempt or asyncio.current_task()
        self._thread = threading.get_ident()
        #: The log lines that the execution keeps, if the worker is set to keep some.
        self.lines: logs.KeptLines | None = None
        if keep_logs:
            self.lines = logs.KeptLines(keep_logs, self)
        self._encode_input = encode_input
        #: The lease was lost; set once, from the event loop.
        self.lost: bool = False
        #: The worker stops and the attempt continues elsewhere.
        self.released: bool = False
        #: The thread that runs a `def` task; those that the task starts have other numbers.
        self.code_thread: int | None = None
        #: For threads: set together with `lost`; they wait for it.
        self.lost_event: threading.Event | None = None
        #: What the thread of a `def` task, and those that it has started, wait for.
        self.waiting: set[concurrent.futures.Future[Any]] | None = None

    # Most tasks use few of these.
    versions = cached_property[Versions](lambda self: Versions(self.journal, self.record))
    _waiting = cached_property[Waiting](lambda self: Waiting(self, self._engine))
    _children = cached_property[Children](lambda self: Children(self._engine, self._claim))
    _lent = cached_property[LentSlot](lambda self: LentSlot(self._slots))

    @cached_property
    def logger(self) -> logs.TaskLogger:
        """A logger that adds tenant, execution, kind and attempt to its lines."""
        return logs.TaskLogger(self._claim, self.lines)

    def expect_lines(self, many: bool) -> None:  # noqa: FBT001 - KeptLines calls it
        """Plan to stream lines of the log, whichever thread they come from."""
        if threading.get_ident() == self._thread:
            self.stream.expect_lines(many=many)
        elif self._main is not None:
            loop = self._main.get_loop()
            loop.call_soon_threadsafe(lambda: self.stream.expect_lines(many=many))

    def lose(self) -> None:
        """Record that the lease was lost."""
        self.lost = True
        if self.lost_event is not None:
            self.lost_event.set()
        # A copy: threads add to it and take from it.
        for waiting in tuple(self.waiting or ()):
            waiting.cancel()

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
    def engine(self) -> Engine:
        """The engine of its worker."""
        return self._engine

    @property
    def stream(self) -> Stream:
        """The stream of the execution: output that others read while it runs."""
        if self._stream is None:
            self._stream = Stream(self._engine, self)
        return self._stream

    def finish(self) -> None:
        """Check at the end of the function that its journal fits."""
        self.journal.finish()

    @property
    def _may_buffer(self) -> bool:
        """Whether there may be something to flush."""
        return self._stream is not None

    async def flush(self) -> None:
        """Flush buffered frames to the store."""
        if self._stream is not None:
            await self._stream.flush()

    async def last_frames(self) -> Sequence[NewFrame]:
        """Flush most frames; return the others, to be stored with the end of the attempt."""
        return () if self._stream is None else await self._stream.last_frames()

    @property
    def budget(self) -> ContextBudget:
        """The spending of this execution."""
        return ContextBudget(self, self._engine.budgets)

    def now(self) -> datetime:
        """Return the time on the store's clock."""
        claimed_at = self._claim.expires_at - timedelta(milliseconds=self._lease_ms)
        return claimed_at + timedelta(seconds=time.monotonic() - self._claimed_on_clock)

    def idempotency_key(self, step: str) -> str:
        """Return a key for another system, the same in every attempt at this step."""
        return f"{self._claim.id}:{self._claim.run}:{step}"

    def check(self) -> None:
        """Raise through the task if its lease was lost; every call of the context does this."""
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

        A later attempt gets the recorded result. With `retries`, a function that raises is called
        again after a growing pause before the step fails.
        """
        if retries != 0 or type(retries) is not int:
            checks.integer("retries", retries, 0, bounds.MAX_ATTEMPTS)
        self._ask(name)
        return run_step(self, name, fn, args, retries)

    def _ask(self, name: str) -> None:
        self.journal.ask(name, parallel=self._is_parallel)

    @property
    def _is_parallel(self) -> bool:
        """Whether this is not the task's own asyncio task: other steps may be running, too."""
        return asyncio.current_task() is not self._main

    async def in_order(self, work: Coroutine[Any, Any, R]) -> R:
        """Do what the thread of a `def` task waits for; its calls come one after the other."""
        self._main = asyncio.current_task()
        return await work

    @overload
    async def waitpoint(
        self,
        name: str,
        *,
        schema: type[M],
        **options: Unpack[WaitpointOptions],
    ) -> TaskWaitpoint[M]: ...
    @overload
    async def waitpoint(
        self,
        name: str,
        *,
        schema: Mapping[str, Any] | None = None,
        **options: Unpack[WaitpointOptions],
    ) -> TaskWaitpoint[Any]: ...
    async def waitpoint(
        self, name: str, *, schema: Any = None, **options: Unpack[WaitpointOptions]
    ) -> TaskWaitpoint[Any]:
        """Create a waitpoint before the wait, to send out its token and link.

        A later attempt finds the same one. Answers that come before `wait_for` are kept for it.
        """
        return await self._waiting.waitpoint(name, schema, options)

    @overload
    async def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        *,
        schema: type[M],
        approvers: Approvers,
        need: int | None = None,
        **options: Unpack[WaitOptions],
    ) -> list[M]: ...
    @overload
    async def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[M],
        *,
        schema: type[M],
        approvers: None = None,
        need: None = None,
        **options: Unpack[WaitOptions],
    ) -> M: ...
    @overload
    async def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        *,
        schema: Mapping[str, Any] | None = None,
        approvers: Approvers | None = None,
        need: int | None = None,
        **options: Unpack[WaitOptions],
    ) -> Any: ...
    async def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        *,
        schema: Any = None,
        approvers: Approvers | None = None,
        need: int | None = None,
        **options: Unpack[WaitOptions],
    ) -> Any:
        """Wait for an answer without holding a worker's slot, and return its payload.

        With a number of `approvers` it needs signals named `approve` from that many different
        sources and returns all their payloads; one named `deny` raises Denied. With names of
        approvers each of these people has a token, and `need` of them must approve, by default
        all. After `timeout` the task gets WaitTimedOut, or the execution fails, is cancelled,
        expires, or waits for an operator, as `on_timeout` says.
        """
        return await self._waiting.answer(waitpoint, schema, approvers, need, options)

    async def wait_until(
        self,
        condition: Mapping[str, Any],
        *waitpoints: str | TaskWaitpoint[Any],
        name: str = "condition",
        timeout: Duration | None = None,
        on_timeout: OnTimeout = "raise",
    ) -> list[Signal]:
        """Wait for a condition on several waitpoints; returns the signals that fulfilled it."""
        return await self._waiting.until(
            [NewWaitpoint(name=item) if isinstance(item, str) else item for item in waitpoints],
            condition,
            step=f"wait:{name}",
            timeout=timeout,
            on_timeout=on_timeout,
        )

    def signals(self, *names: str, timeout: Duration | None = None) -> Signals:
        """Receive signals that others send to this execution: `async for signal in ...`.

        They come in the order of arrival, each once; without names, all of them. The iteration
        ends when no signal comes within `timeout`. `get()` receives one.
        """

        def is_alone() -> bool:
            return asyncio.current_task() is self._main and self.journal.outstanding == 1

        return Signals(self, self._engine, names, timeout, is_alone)

    async def set_view(self, value: Any) -> None:
        """Show what this execution is doing: `holdfast view ID`. Replaces the last view.

        While a later attempt goes through recorded steps, it does not set earlier views again.
        """
        data = Encoding("view", Any).encode(value)
        if not self.journal.is_replaying:
            with self.holding():
                await self._engine.set_view(self.id, self._claim.lease, data)

    async def record(self, name: str, result: bytes) -> bytes:
        """Write a step to the store; returns the recorded result."""
        self.check()
        # A recorded step does not run again, so its frames must not be lost.
        if self._may_buffer:
            await self.flush()
            self.check()
        try:
            return await self._engine.executions.checkpoint(
                self._claim.id, self._claim.lease, name, result
            )
        except LeaseLost as error:
            raise lost(self, error) from error

    def holding(self) -> Holding:
        """Make calls as the holder of the lease; a lost lease ends the attempt."""
        return Holding(self)

    async def once(self, name: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the recorded result of a step, or compute and record it."""
        self._ask(name)
        return await self._fetch(name, make, is_made=True)

    async def fetch(self, name: str, receive: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the recorded result of a step, or make a call that records it."""
        self._ask(name)
        return await self._fetch(name, receive)

    async def _fetch(
        self, name: str, get: Callable[[], Awaitable[bytes]], *, is_made: bool = False
    ) -> bytes:
        try:
            self.check()
            found = self.journal.find(name)
            if found is not None:
                return found
            return await self.record(name, await get()) if is_made else await get()
        finally:
            self.journal.settle()

    def number(self, kind: str) -> str:
        """Return the next name of an unnamed step of a kind."""
        return self.journal.number(kind)

    async def gather(self, *steps: Awaitable[R]) -> list[R]:
        """Run steps in parallel; the first that fails cancels the others."""
        return await gathered(steps)

    async def sleep(self, duration: Duration, *, name: str | None = None) -> None:
        """Sleep durably; a long sleep returns the worker's slot and survives crashes."""
        wake_at = await self.wake_time(to_ms("duration", duration), name)
        left_ms = wake_at - moment_ms(self.now())
        with self.trace.wait("sleep"):
            if left_ms >= SHORTEST_PAUSE_MS:
                raise AttemptPaused(left_ms)
            if left_ms > 0:
                await asyncio.sleep(left_ms / 1000)

    async def wake_time(self, duration_ms: int, name: str | None) -> int:
        """Return when a sleep ends, recorded at its first start, in ms."""

        async def make() -> bytes:
            return str(moment_ms(self.now()) + duration_ms).encode()

        return int(await self.once(name or self.number("sleep"), make))

    async def version(self, name: str, current: int) -> int:
        """Return the version of a part of the code that this execution follows, from 1.

        The first call records `current`. An execution that was past this line before the code had
        it keeps 1, so it goes on as the old code did. Call it outside parallel steps.
        """
        self.check()
        return await self.versions.get(name, current, parallel=self._is_parallel)

    async def continue_as(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Start the task again with other arguments and an empty journal, in one atomic call.

        For tasks that never end: the journal stays short. The id, the lease, waitpoints and the
        stream stay. Nothing after this line runs.
        """
        if self._encode_input is None:
            message = "continue_as needs a task"
            raise TaskError(message)
        await self.start_again(self._encode_input(args, kwargs))

    async def start_again(self, payload: bytes) -> NoReturn:
        """Start again with another input; raises Continued through the task."""
        checks.payload("input", payload)
        await self.flush()
        claim = self._claim
        with self.holding():
            await self._engine.continue_as(
                claim.id, claim.lease, payload, continued=claim.continued
            )
        raise Continued(payload)

    async def progress(self, pct: float, message: str = "") -> None:
        """Report the progress of the task, 0 to 100."""
        with self.holding():
            await self._engine.progress(self.id, self._claim.lease, pct, message)

    async def submit(
        self, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> Handle[R]:
        """Submit a child; a later attempt finds the same child again.

        The order of submission identifies children, so submit them in a fixed order. By default
        a child outlives its parent: `task.options(on_parent_end="cancel")` cancels it instead.
        """
        self.check()
        return await self._children.child(task).submit(*args, **kwargs)

    def graph(
        self, *, deadline: Duration | None = None, on_parent_end: str = OnParentEnd.KEEP
    ) -> Graph:
        """Build a graph of children; a later attempt finds the same graph again.

        As with children, the order of creation identifies graphs, and `on_parent_end` says what
        happens to the graph when this execution ends.
        """
        self.check()
        return self._children.graph(deadline, check_policy(on_parent_end), self.outlast)

    async def result(self, handle: Handle[R]) -> R:
        """Wait for a child without holding a slot; its failure is raised as ExecutionFailed."""
        with self.trace.wait("result"):
            return await self.outlast(handle.result())

    async def outlast(self, work: Coroutine[Any, Any, R]) -> R:
        """Wait without holding a slot; if the worker stops, continue elsewhere."""
        try:
            self.check()
        except BaseException:
            work.close()
            raise
        return await self._lent.wait(work)

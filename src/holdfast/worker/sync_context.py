"""The context of a running `def` task, in its thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, TypeVarTuple, Unpack, overload

from holdfast.model import bounds, checks
from holdfast.model.bonds import OnParentEnd
from holdfast.model.executions import Claim
from holdfast.model.moments import to_ms as moment_ms
from holdfast.model.waitpoints import Signal
from holdfast.worker.budget import SyncContextBudget
from holdfast.worker.context import Context
from holdfast.worker.durations import Duration, to_ms
from holdfast.worker.graphs import SyncGraph
from holdfast.worker.handle import Handle
from holdfast.worker.inbox import Signals, SyncSignals
from holdfast.worker.lending import SHORTEST_PAUSE_MS
from holdfast.worker.outcomes import AttemptPaused
from holdfast.worker.pools import ThreadPool
from holdfast.worker.stepping import result_encoding, try_step_blocking
from holdfast.worker.streaming import SyncStream
from holdfast.worker.waiting import (
    Approvers,
    OnTimeout,
    TaskWaitpoint,
    WaitOptions,
    WaitpointOptions,
)

if TYPE_CHECKING:
    from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M")
Ts = TypeVarTuple("Ts")


class SyncContext:
    """The running attempt of a `def` task, in a thread: it blocks where Context awaits."""

    def __init__(
        self, context: Context, loop: asyncio.AbstractEventLoop, threads: ThreadPool
    ) -> None:
        self._context = context
        self._threads = threads
        self._loop = loop
        self._lost = context.lost_event = threading.Event()
        self._waiting = context.waiting = set[concurrent.futures.Future[Any]]()
        self.logger: logging.LoggerAdapter[logging.Logger] = context.logger
        #: The stream of the execution: output that others read while it runs.
        self.stream: SyncStream = SyncStream(context.stream, self._wait)

    @property
    def _is_own_thread(self) -> bool:
        """Whether the caller is the thread of the task, and not one that the task has started."""
        return threading.get_ident() == self._context.code_thread

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

    @property
    def budget(self) -> SyncContextBudget:
        """The spending of this execution."""
        return SyncContextBudget(self._context.budget, self._wait)

    def now(self) -> datetime:
        """Return the time on the store's clock."""
        return self._context.now()

    def idempotency_key(self, step: str) -> str:
        """Return a key for another system, the same in every attempt at this step."""
        return self._context.idempotency_key(step)

    def check(self) -> None:
        """Raise through the task if its lease was lost; call it in long computations."""
        self._context.check()

    def step(self, name: str, fn: Callable[[*Ts], R], *args: *Ts, retries: int = 0) -> R:
        """Run a function once, in this thread, and record its result under a name."""
        checks.integer("retries", retries, 0, bounds.MAX_ATTEMPTS)
        journal, encoding = self._context.journal, result_encoding(fn)
        journal.ask(name, parallel=not self._is_own_thread)
        try:
            self.check()
            recorded = journal.find(name)
            if recorded is None:
                with self._context.trace.step(name):
                    value = try_step_blocking(fn, args, retries)
                recorded = self._wait(
                    self._context.record(
                        name, encoding.encode_result(value, self._context.claim.kind, name)
                    )
                )
            result: R = encoding.decode(recorded)
            return result
        finally:
            journal.settle()

    def sleep(self, duration: Duration, *, name: str | None = None) -> None:
        """Sleep durably; a long sleep returns the worker's slot and survives crashes."""
        wake_at = self._wait(self._context.wake_time(to_ms("duration", duration), name))
        left_ms = wake_at - moment_ms(self.now())
        with self._context.trace.wait("sleep"):
            if left_ms >= SHORTEST_PAUSE_MS:
                raise AttemptPaused(left_ms)
            self._lost.wait(max(left_ms, 0) / 1000)
        self.check()

    @overload
    def waitpoint(
        self,
        name: str,
        *,
        schema: type[M],
        **options: Unpack[WaitpointOptions],
    ) -> TaskWaitpoint[M]: ...
    @overload
    def waitpoint(
        self,
        name: str,
        *,
        schema: Mapping[str, Any] | None = None,
        **options: Unpack[WaitpointOptions],
    ) -> TaskWaitpoint[Any]: ...
    def waitpoint(
        self, name: str, *, schema: Any = None, **options: Unpack[WaitpointOptions]
    ) -> TaskWaitpoint[Any]:
        """Create a waitpoint before the wait, to send out its token and link."""
        return self._wait(self._context.waitpoint(name, schema=schema, **options))

    @overload
    def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        *,
        schema: type[M],
        approvers: Approvers,
        need: int | None = None,
        **options: Unpack[WaitOptions],
    ) -> list[M]: ...
    @overload
    def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[M],
        *,
        schema: type[M],
        approvers: None = None,
        need: None = None,
        **options: Unpack[WaitOptions],
    ) -> M: ...
    @overload
    def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        *,
        schema: Mapping[str, Any] | None = None,
        approvers: Approvers | None = None,
        need: int | None = None,
        **options: Unpack[WaitOptions],
    ) -> Any: ...
    def wait_for(
        self,
        waitpoint: str | TaskWaitpoint[Any],
        *,
        schema: Any = None,
        approvers: Approvers | None = None,
        need: int | None = None,
        **options: Unpack[WaitOptions],
    ) -> Any:
        """Wait for an answer without holding a worker's slot, and return its payload."""
        return self._wait(
            self._context.wait_for(
                waitpoint, schema=schema, approvers=approvers, need=need, **options
            )
        )

    def wait_until(
        self,
        condition: Mapping[str, Any],
        *waitpoints: str | TaskWaitpoint[Any],
        name: str = "condition",
        timeout: Duration | None = None,
        on_timeout: OnTimeout = "raise",
    ) -> list[Signal]:
        """Wait for a condition on several waitpoints; returns the signals that fulfilled it."""
        return self._wait(
            self._context.wait_until(
                condition, *waitpoints, name=name, timeout=timeout, on_timeout=on_timeout
            )
        )

    def signals(self, *names: str, timeout: Duration | None = None) -> SyncSignals:
        """Receive signals that others send to this execution: `for signal in ...`."""
        context = self._context
        signals = Signals(
            context, context.engine, names, timeout, lambda: context.journal.outstanding == 1
        )
        return SyncSignals(signals, self._wait_lent)

    def set_view(self, value: Any) -> None:
        """Show what this execution is doing: `holdfast view ID`. Replaces the last view."""
        self._wait(self._context.set_view(value))

    def version(self, name: str, current: int) -> int:
        """Return the version of a part of the code that this execution follows, from 1."""
        return self._wait(self._context.version(name, current))

    def continue_as(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Start the task again with other arguments and an empty journal, in one atomic call."""
        self._wait(self._context.continue_as(*args, **kwargs))
        raise AssertionError

    def progress(self, pct: float, message: str = "") -> None:
        """Report the progress of the task, 0 to 100."""
        self._wait(self._context.progress(pct, message))

    def submit(self, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> Handle[R]:
        """Submit a child; a later attempt finds the same child again."""
        return self._wait(self._context.submit(task, *args, **kwargs))

    def graph(
        self, *, deadline: Duration | None = None, on_parent_end: str = OnParentEnd.KEEP
    ) -> SyncGraph:
        """Build a graph of children; a later attempt finds the same graph again."""
        graph = self._context.graph(deadline=deadline, on_parent_end=on_parent_end)
        return SyncGraph(graph, self._wait_lent)

    def result(self, handle: Handle[R]) -> R:
        """Wait for a child; its failure is raised as ExecutionFailed."""
        return self._wait_lent(self._context.result(handle))

    def _wait_lent(self, coroutine: Coroutine[Any, Any, R]) -> R:
        with self._threads.lent():
            return self._wait(coroutine)

    def _wait(self, coroutine: Coroutine[Any, Any, R]) -> R:
        if self._is_own_thread:
            coroutine = self._context.in_order(coroutine)
        waiting = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._waiting.add(waiting)
        try:
            self.check()
            return waiting.result()
        except concurrent.futures.CancelledError:
            self.check()
            raise
        finally:
            self._waiting.discard(waiting)

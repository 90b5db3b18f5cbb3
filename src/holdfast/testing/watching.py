"""The real store and engine, watched: a test sees every write and can kill workers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from holdfast.engine import Engine
from holdfast.engine.graphs import Graphs
from holdfast.errors import HoldfastError, StaleLease
from holdfast.model.executions import Failure, Lease, NewExecution, Outcome, Submitted
from holdfast.model.frames import NewFrame
from holdfast.model.graphs import GraphState
from holdfast.model.sessions import (
    Activity,
    Delivered,
    MessageWait,
    NewReply,
    StateValue,
    Turned,
)
from holdfast.model.states import State
from holdfast.model.waitpoints import Signal
from holdfast.store.domain import Partitioned
from holdfast.store.executions import Executions
from holdfast.store.sessions import Sessions
from holdfast.store.store import Store
from holdfast.worker.outcomes import AttemptLost

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Write:
    """A write of an attempt: a step, a child, a turn's replies, or its end."""

    execution_id: str
    what: Literal["step", "child", "turn", "end"]
    #: The name of the step, the id of the child, the steps of a turn.
    name: str = ""

    def __str__(self) -> str:
        return "its last line" if self.what == "end" else f"{self.what} {self.name!r}"


class Watch:
    """The events on a store."""

    def __init__(self) -> None:
        #: Set by any event that may have made work ready, or ended or resumed an attempt.
        self.changed: asyncio.Event = asyncio.Event()
        #: The writes of attempts, in order; an end is listed before it is recorded.
        self.writes: list[Write] = []
        #: Decides at each write whether its worker dies now.
        self.dies: Callable[[Write], bool] = lambda _: False
        #: Executions and fences of killed attempts; executions claimed together share a lease id.
        self.dead: set[tuple[str, str]] = set()

    def wrote(self, write: Write) -> None:
        """Note a write; raise AttemptLost in the attempt if its worker dies."""
        self.writes.append(write)
        self.changed.set()
        if self.dies(write):
            raise AttemptLost(f"execution {write.execution_id} was killed by the test")

    def refuse_dead(self, execution_id: str, lease: Lease) -> None:
        """Refuse a call that a killed worker could not have sent."""
        if (execution_id, lease.fence) in self.dead:
            raise StaleLease(f"execution {execution_id} was killed by the test", id=execution_id)


class WatchedExecutions(Executions):
    """Transitions that refuse calls of killed attempts."""

    def __init__(self, store: Partitioned, watch: Watch) -> None:
        super().__init__(store)
        self._watch = watch

    async def create(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create executions; a child counts as a write of its parent."""
        answers = await super().create(items)
        self._watch.changed.set()
        for item in items:
            parent, _, _ = (item.id or "").rpartition("~")
            if parent:
                self._watch.wrote(Write(parent, "child", item.id or ""))
        return answers

    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step."""
        self._watch.refuse_dead(execution_id, lease)
        recorded = await super().checkpoint(execution_id, lease, name, result)
        self._watch.wrote(Write(execution_id, "step", name))
        return recorded

    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes,
        content_type: str = "",
        frames: Sequence[NewFrame] = (),
    ) -> None:
        """End an execution, unless its worker dies just before."""
        self._watch.refuse_dead(execution_id, lease)
        self._watch.wrote(Write(execution_id, "end"))
        await super().complete(execution_id, lease, result, content_type, frames)
        self._watch.changed.set()

    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt."""
        self._watch.refuse_dead(execution_id, lease)
        answer = await super().fail(execution_id, lease, failure)
        self._watch.changed.set()
        return answer

    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Continue the same attempt later."""
        self._watch.refuse_dead(execution_id, lease)
        answer = await super().delay(execution_id, lease, delay_ms)
        self._watch.changed.set()
        return answer

    async def continue_as(
        self, execution_id: str, lease: Lease, payload: bytes, continued: int
    ) -> None:
        """Start again with another input."""
        self._watch.refuse_dead(execution_id, lease)
        await super().continue_as(execution_id, lease, payload, continued)
        self._watch.wrote(Write(execution_id, "step", f"start {continued + 1}"))

    async def progress(self, execution_id: str, lease: Lease, pct: float, message: str) -> None:
        """Record the progress of the attempt."""
        self._watch.refuse_dead(execution_id, lease)
        await super().progress(execution_id, lease, pct, message)


class WatchedSessions(Sessions):
    """Turns of conversations, none of them by a killed attempt."""

    def __init__(self, store: Partitioned, watch: Watch) -> None:
        super().__init__(store)
        self._watch = watch

    async def deliver(self, activity: Activity, item: NewExecution, **options: Any) -> Delivered:
        """Deliver a message."""
        delivered = await super().deliver(activity, item, **options)
        self._watch.changed.set()
        return delivered

    async def turn(
        self,
        execution_id: str,
        lease: Lease,
        replies: Sequence[NewReply],
        wait: MessageWait | None,
    ) -> Turned:
        """Write replies, and perhaps wait."""
        self._watch.refuse_dead(execution_id, lease)
        turned = await super().turn(execution_id, lease, replies, wait)
        steps = [reply.step for reply in replies] + ([wait.step] if wait else [])
        self._watch.wrote(Write(execution_id, "turn", ", ".join(steps)))
        return turned

    async def state(
        self, execution_id: str, lease: Lease, step: str, name: str, **change: Any
    ) -> StateValue:
        """Read or change a value of a session's state."""
        self._watch.refuse_dead(execution_id, lease)
        value = await super().state(execution_id, lease, step, name, **change)
        self._watch.wrote(Write(execution_id, "step", step))
        return value


class WatchedGraphOperations(Graphs):
    """Operations on graphs that register waiters with the engine."""

    def __init__(self, store: Store, engine: WatchedEngine) -> None:
        super().__init__(store, engine.payloads)
        self._engine = engine

    async def wait(self, graph_id: str, *, timeout_s: float | None = None) -> GraphState:
        """Wait for the end of a graph."""
        with self._engine.waiting_for_graph(graph_id):
            return await super().wait(graph_id, timeout_s=timeout_s)


class WatchedEngine(Engine):
    """An engine that tracks waits for the end of an execution."""

    def __init__(self, store: Store, watch: Watch) -> None:
        super().__init__(store)
        self._watch = watch
        self._waited_on: Counter[str] = Counter()
        self._waited_graphs: Counter[str] = Counter()
        #: Executions with their leases, and the names of the signals that they wait for.
        self._receivers: Counter[tuple[str, Lease, tuple[str, ...]]] = Counter()
        self._waiters: set[asyncio.Task[Any]] = set()
        self.graphs: WatchedGraphOperations = WatchedGraphOperations(store, self)

    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        """Wait for the end of an execution."""
        with self._waiting(self._waited_on, execution_id):
            return await super().wait(execution_id, timeout_s=timeout_s)

    async def receive(
        self,
        execution_id: str,
        lease: Lease,
        names: Sequence[str] = (),
        *,
        step: str,
        timeout_s: float = 0.0,
    ) -> Signal | None:
        """Receive a signal; a wait for one counts as a wait."""
        self._watch.refuse_dead(execution_id, lease)
        if timeout_s <= 0:
            return await super().receive(execution_id, lease, names, step=step)
        with self._waiting(self._receivers, (execution_id, lease, tuple(names))):
            return await super().receive(execution_id, lease, names, step=step, timeout_s=timeout_s)

    def waiting_for_graph(self, graph_id: str) -> contextlib.AbstractContextManager[None]:
        """Register a waiter for a graph."""
        return self._waiting(self._waited_graphs, graph_id)

    @contextlib.contextmanager
    def _waiting(self, waited_on: Counter[K], awaited: K) -> Iterator[None]:
        waiter = asyncio.current_task()
        assert waiter is not None  # noqa: S101 - a coroutine runs in a task
        self._waiters.add(waiter)
        waited_on[awaited] += 1
        try:
            yield
        finally:
            waited_on[awaited] -= 1
            self._waiters.discard(waiter)
            self._watch.changed.set()

    async def has_news(self) -> bool:
        """Whether a waiter will continue: an execution or graph has ended, or a signal came."""
        waited_on = [waiter for waiter, count in self._waited_on.items() if count > 0]
        graphs = [waiter for waiter, count in self._waited_graphs.items() if count > 0]
        outcomes = await asyncio.gather(
            *map(self.outcome, waited_on), *map(self.graphs.outcome, graphs)
        )
        receivers = [receiver for receiver, count in self._receivers.items() if count > 0]
        unread = await asyncio.gather(
            *(self.store.inboxes.peek(*receiver) for receiver in receivers), return_exceptions=True
        )
        signals = [one for one in unread if not isinstance(one, BaseException)]
        return any(news is not None for news in (*outcomes, *signals))

    def stop_waiting(self) -> None:
        """Cancel all waiters."""
        for waiter in self._waiters:
            waiter.cancel()

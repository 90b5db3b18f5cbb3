"""The real engine, watched: a test knows what changed, what is waited for, and who is dead."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from holdfast.engine import Engine
from holdfast.errors import HoldfastError, StaleLease
from holdfast.model.executions import Failure, Lease, NewExecution, Outcome, Submitted
from holdfast.model.states import State
from holdfast.testing.stores import TestStore
from holdfast.worker.outcomes import AttemptLost


@dataclass(frozen=True, slots=True)
class Write:
    """Something of an attempt that outlives it: a step, a child, or its end."""

    execution_id: str
    what: Literal["step", "child", "end"]
    #: The name of the step, the id of the child.
    name: str = ""

    def __str__(self) -> str:
        return "its last line" if self.what == "end" else f"{self.what} {self.name!r}"


class WatchedEngine(Engine):
    """An engine whose attempts a test can kill: a dead one can write nothing more."""

    def __init__(self, store: TestStore) -> None:
        super().__init__(store)
        #: Set by whatever may have made work ready, ended an attempt, or let one go on.
        self.changed = asyncio.Event()
        #: What attempts wrote, in order, tries to end included.
        self.writes: list[Write] = []
        #: Executions whose end somebody waits for.
        self.waited_on: Counter[str] = Counter()
        #: Asked after each write whether its worker dies now.
        self.dies: Callable[[Write], bool] = lambda _: False
        #: Executions and fences of killed attempts; executions claimed together share a lease id.
        self.dead: set[tuple[str, str]] = set()
        self._waiters: set[asyncio.Task[Any]] = set()

    def stop_waiting(self) -> None:
        """Cancel everybody who waits for the end of an execution."""
        for waiter in self._waiters:
            waiter.cancel()

    async def submit(self, kind: str, **fields: Any) -> Submitted:
        """Create an execution."""
        try:
            return await super().submit(kind, **fields)
        finally:
            self.changed.set()

    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create executions; a child is something that its parent wrote."""
        answers = await super().submit_many(items)
        self.changed.set()
        for item in items:
            parent, _, number = (item.id or "").rpartition("~")
            if parent and number and self._wrote(Write(parent, "child", item.id or "")):
                raise AttemptLost(f"execution {parent} was killed by the test")
        return answers

    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step."""
        self._refuse_dead(execution_id, lease)
        recorded = await super().checkpoint(execution_id, lease, name, result)
        if self._wrote(Write(execution_id, "step", name)):
            raise AttemptLost(f"execution {execution_id} was killed by the test")
        return recorded

    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
    ) -> None:
        """End an execution, unless its worker dies just before."""
        self._refuse_dead(execution_id, lease)
        self._wrote(Write(execution_id, "end"))
        self._refuse_dead(execution_id, lease)
        await super().complete(execution_id, lease, result, content_type=content_type)
        self.changed.set()

    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt."""
        self._refuse_dead(execution_id, lease)
        try:
            return await super().fail(execution_id, lease, failure)
        finally:
            self.changed.set()

    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Go on with the same attempt later."""
        self._refuse_dead(execution_id, lease)
        try:
            return await super().delay(execution_id, lease, delay_ms)
        finally:
            self.changed.set()

    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        """Record how far the holder is."""
        self._refuse_dead(execution_id, lease)
        await super().progress(execution_id, lease, pct, message)

    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        """Wait for the end of an execution."""
        waiter = asyncio.current_task()
        assert waiter is not None  # noqa: S101 - a coroutine runs in a task
        self._waiters.add(waiter)
        self.waited_on[execution_id] += 1
        try:
            return await super().wait(execution_id, timeout_s=timeout_s)
        finally:
            self.waited_on[execution_id] -= 1
            self._waiters.discard(waiter)
            self.changed.set()

    async def has_news(self) -> bool:
        """Whether an execution that is waited for has ended: its waiter will go on."""
        waited_on = [one for one, count in self.waited_on.items() if count > 0]
        outcomes = await asyncio.gather(*map(self.outcome, waited_on))
        return any(outcome is not None for outcome in outcomes)

    def _wrote(self, write: Write) -> bool:
        self.writes.append(write)
        self.changed.set()
        return self.dies(write)

    def _refuse_dead(self, execution_id: str, lease: Lease) -> None:
        if (execution_id, lease.fence) in self.dead:
            raise StaleLease(f"execution {execution_id} was killed by the test", id=execution_id)

"""Executions: submit, run, operate, ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

from holdfast.api.beats import Beats
from holdfast.api.claimer import Claimer
from holdfast.errors import HoldfastError
from holdfast.model.executions import (
    Attempt,
    Event,
    Execution,
    Failure,
    Lease,
    NewExecution,
    Outcome,
    Step,
    Submitted,
    result_of,
)
from holdfast.model.explanations import Explanation
from holdfast.model.exports import Exported
from holdfast.model.listing import Count, Filter, Page
from holdfast.model.states import State

DEFAULT_LEASE_MS = 30_000


class Executions(ABC):
    """Operations on executions."""

    @abstractmethod
    async def submit(self, /, kind: str, **fields: Any) -> Submitted:
        """Create an execution; the fields are those of NewExecution.

        Options that are not given are those that workers published of the task. Its input must fit
        the published schema, unless `check` is False.
        """

    @abstractmethod
    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create up to 1,000 executions: an answer or an error for each, in order."""

    @abstractmethod
    def claimer(
        self,
        *,
        worker: str,
        lanes: Sequence[str] = ("default",),
        capabilities: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> AbstractAsyncContextManager[Claimer]:
        """Open a claimer for one worker; it listens for work while the block runs."""

    @abstractmethod
    def beats(self, *, timeout_s: float) -> Beats:
        """Open a blocking connection for heartbeats, which a thread of its own sends."""

    @abstractmethod
    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int = DEFAULT_LEASE_MS
    ) -> list[datetime | HoldfastError]:
        """Extend leases: the new expiry or an error for each, in order."""

    @abstractmethod
    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
    ) -> None:
        """End an execution with its result; safe to repeat."""

    @abstractmethod
    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt; returns the state and when it is tried again. Safe to repeat."""

    @abstractmethod
    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Give the lease back and go on with the same attempt later; safe to repeat."""

    @abstractmethod
    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        """Record how far the holder is."""

    @abstractmethod
    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step; returns its recorded result, which never changes."""

    @abstractmethod
    async def continue_as(
        self, execution_id: str, lease: Lease, new_input: bytes, *, continued: int
    ) -> None:
        """Start again with another input and an empty journal, under the same lease.

        `continued` is how often that happened before (`Claim.continued`), so that a call that is
        repeated changes nothing more. The id, the session, messages and waitpoints stay.
        """

    @abstractmethod
    async def cancel(self, execution_id: str, reason: str = "") -> None:
        """Cancel an execution that has not ended; a holder learns it at its next call."""

    @abstractmethod
    async def replay(
        self,
        execution_id: str,
        *,
        keep_steps: bool = False,
        from_step: str | None = None,
        reason: str = "",
    ) -> State:
        """Run a terminal execution again, from its start or from a step."""

    @abstractmethod
    async def revoke_lease(self, execution_id: str, reason: str = "") -> None:
        """Take the lease from its holder; the execution is ready again at once."""

    @abstractmethod
    async def prioritize(self, execution_id: str, priority: int) -> int:
        """Change the priority; returns the previous one."""

    @abstractmethod
    async def describe(self, execution_id: str) -> Execution:
        """Return what is known about an execution."""

    @abstractmethod
    async def owner(self, execution_id: str) -> str:
        """Return the tenant that it belongs to."""

    @abstractmethod
    async def input(self, execution_id: str) -> bytes:
        """Return the input as it was submitted."""

    @abstractmethod
    async def history(self, execution_id: str) -> list[Event]:
        """Return what happened to it, oldest first."""

    @abstractmethod
    async def attempts(self, execution_id: str) -> list[Attempt]:
        """Return its attempts, oldest first."""

    @abstractmethod
    async def steps(self, execution_id: str) -> list[Step]:
        """Return its journal in the order of recording."""

    @abstractmethod
    async def outcome(self, execution_id: str) -> Outcome | None:
        """Return how it ended, or None."""

    @abstractmethod
    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        """Wait for its end; raises ResultNotReady when the time is over."""

    async def result(self, execution_id: str, *, timeout_s: float | None = None) -> bytes:
        """Wait for its result; raises ExecutionFailed if it ended without one."""
        return result_of(await self.wait(execution_id, timeout_s=timeout_s))

    @abstractmethod
    async def export(self, execution_id: str) -> Exported:
        """Return everything of an execution that has ended; raises NotTerminal."""

    @abstractmethod
    async def list(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Return a page of executions, newest first."""

    @abstractmethod
    async def count(self, tenant: str | None = None) -> Sequence[Count]:
        """Return exact counts by tenant, lane, kind and state."""

    @abstractmethod
    async def explain(self, execution_id: str) -> Explanation:
        """Say why it is not running."""

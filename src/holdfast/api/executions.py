"""Executions: submit, run, operate, read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

from holdfast.api.beats import Beats
from holdfast.api.claimer import Claimer
from holdfast.errors import HoldfastError
from holdfast.model import checks
from holdfast.model.calls import Replay, check_patience
from holdfast.model.causes import Cause
from holdfast.model.claims import Claimant
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
from holdfast.model.frames import NewFrame
from holdfast.model.inboxes import ExecutionSignal, Receipt
from holdfast.model.listing import Count, Filter, Listing, Page
from holdfast.model.resubmissions import Resubmission
from holdfast.model.states import State
from holdfast.model.views import View
from holdfast.model.waitpoints import Effect, Signal, Source

DEFAULT_LEASE_MS = 30_000


class Executions(ABC):
    """Operations on executions."""

    @abstractmethod
    async def submit(self, /, kind: str, **fields: Any) -> Submitted:
        """Create an execution. The fields are those of NewExecution.

        Options that you omit come from the task's declaration, if a worker has published it. The
        input must match the published schema, unless `check` is False.
        """

    @abstractmethod
    async def resubmit(self, execution_id: str, changes: Resubmission | None = None) -> Submitted:
        """Submit another execution like this one, with the same or another input.

        It has the same task, lane, priority, capabilities, limits and tags, and a tag `resubmit_of`
        that names its origin; its other options are those of the task. Raises InvalidInput for an
        execution of a session.
        """

    @abstractmethod
    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Create up to 1,000 executions; return an answer or an error for each, in order."""

    def claimer(
        self,
        *,
        worker: str,
        lanes: Sequence[str] = ("default",),
        capabilities: Sequence[str] = (),
        kinds: Sequence[str] | None = None,
        tenant: str | None = None,
    ) -> AbstractAsyncContextManager[Claimer]:
        """Open a claimer for one worker. It listens for work while the block runs."""
        return self._claimer(
            Claimant(
                worker=worker, lanes=lanes, capabilities=capabilities, kinds=kinds, tenant=tenant
            )
        )

    @abstractmethod
    def _claimer(self, claimant: Claimant) -> AbstractAsyncContextManager[Claimer]:
        """Open a claimer."""

    @abstractmethod
    def beats(self, *, timeout_s: float) -> Beats:
        """Open a blocking connection for heartbeats, which a separate thread sends."""

    @abstractmethod
    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int = DEFAULT_LEASE_MS
    ) -> list[datetime | HoldfastError]:
        """Extend leases; return the new expiry or an error for each, in order."""

    @abstractmethod
    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
        frames: Sequence[NewFrame] = (),
    ) -> None:
        """End an execution with its result. Safe to repeat.

        `frames` are the last of its stream; summary frames cannot be among them.
        """

    @abstractmethod
    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt with an error; return the state and the retry time. Safe to repeat."""

    @abstractmethod
    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Release the lease and continue the same attempt later. Safe to repeat."""

    @abstractmethod
    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        """Record the progress of the attempt."""

    @abstractmethod
    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step; return its recorded result, which never changes."""

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
        """Cancel an execution that has not ended. Its lease holder is notified at its next call."""

    async def replay(
        self,
        execution_id: str,
        *,
        keep_steps: bool = False,
        from_step: str | None = None,
        reason: str = "",
    ) -> State:
        """Run an ended execution again, from the beginning or from a step."""
        return await self._replay(
            Replay(
                execution_id=execution_id, keep_steps=keep_steps, from_step=from_step, reason=reason
            )
        )

    @abstractmethod
    async def _replay(self, replay: Replay) -> State:
        """Run an execution again."""

    @abstractmethod
    async def revoke_lease(self, execution_id: str, reason: str = "") -> None:
        """Revoke the lease of an execution. It is ready again at once."""

    @abstractmethod
    async def prioritize(self, execution_id: str, priority: int) -> int:
        """Change the priority of an execution; return the previous one."""

    @abstractmethod
    async def describe(self, execution_id: str) -> Execution:
        """Return an execution."""

    @abstractmethod
    async def owner(self, execution_id: str) -> str:
        """Return the tenant of an execution."""

    async def signal(
        self,
        execution_id: str,
        name: str,
        payload: bytes = b"null",
        *,
        source: Source | None = None,
        idempotency_key: str | None = None,
        correlation: str = "",
    ) -> Effect:
        """Send a signal to the code of an execution, which receives it when it asks for it.

        Returns `buffered`, or `duplicate` for a repeated key. Raises AlreadyTerminal if the
        execution has ended, and InboxFull if too many signals are unread.
        """
        return await self._signal(
            ExecutionSignal(
                execution_id=execution_id,
                name=name,
                payload=payload,
                source=source or Source(),
                idempotency_key=idempotency_key,
                correlation=correlation,
            )
        )

    @abstractmethod
    async def _signal(self, item: ExecutionSignal) -> Effect:
        """Send a signal."""

    async def receive(
        self,
        execution_id: str,
        lease: Lease,
        names: Sequence[str] = (),
        *,
        step: str,
        timeout_s: float = 0.0,
    ) -> Signal | None:
        """Receive the oldest unread signal with one of the names, and record it as a step.

        Without one, wait up to `timeout_s` and return None. Safe to repeat with the same step.
        """
        receipt = Receipt(execution_id=execution_id, lease=lease, names=names, step=step)
        check_patience(timeout_s)
        return await self._receive(receipt, timeout_s)

    @abstractmethod
    async def _receive(self, receipt: Receipt, timeout_s: float) -> Signal | None:
        """Receive a signal, or wait for it."""

    async def await_signal(
        self,
        execution_id: str,
        lease: Lease,
        names: Sequence[str] = (),
        *,
        step: str,
        until: datetime | None = None,
    ) -> Signal | None:
        """Receive a signal as `receive` does; without one, release the lease and return None.

        The attempt continues when such a signal arrives, or at the time `until`.
        """
        receipt = Receipt(execution_id=execution_id, lease=lease, names=names, step=step)
        if until is not None:
            checks.instant("until", until)
        return await self._await_signal(receipt, until)

    @abstractmethod
    async def _await_signal(self, receipt: Receipt, until: datetime | None) -> Signal | None:
        """Receive a signal, or release the lease."""

    @abstractmethod
    async def set_view(self, execution_id: str, lease: Lease, data: bytes) -> int:
        """Replace the view of an execution, JSON of up to 64 KiB; return its version."""

    @abstractmethod
    async def view(self, execution_id: str, *, after: int = 0, timeout_s: float = 0.0) -> View:
        """Return the view of an execution.

        If it is not newer than version `after`, wait up to `timeout_s` for one that is, or for
        the end of the execution.
        """

    @abstractmethod
    async def input(self, execution_id: str) -> bytes:
        """Return the input of an execution as it was submitted."""

    @abstractmethod
    async def history(self, execution_id: str) -> list[Event]:
        """Return the history of an execution, oldest first."""

    @abstractmethod
    async def attempts(self, execution_id: str) -> list[Attempt]:
        """Return the attempts of an execution, oldest first."""

    @abstractmethod
    async def steps(self, execution_id: str) -> list[Step]:
        """Return the recorded steps of an execution, in the order of recording."""

    @abstractmethod
    async def outcome(self, execution_id: str) -> Outcome | None:
        """Return how an execution ended, or None if it has not."""

    @abstractmethod
    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        """Wait for the end of an execution; raise ResultNotReady when the time is over."""

    async def result(self, execution_id: str, *, timeout_s: float | None = None) -> bytes:
        """Wait for the result of an execution; raise ExecutionFailed if it ended without one."""
        return result_of(await self.wait(execution_id, timeout_s=timeout_s))

    @abstractmethod
    async def export(self, execution_id: str) -> Exported:
        """Return the complete record of an execution; raise NotTerminal if it has not ended."""

    async def list(
        self,
        wanted: Filter | None = None,
        *,
        limit: int = 50,
        cursor: str | None = None,
        total: bool = False,
        whys: bool = False,
    ) -> Page:
        """Return a page of executions, newest first unless the filter says otherwise.

        With `total`, the page says how many match; with `whys`, why those that have not ended are
        not running. A filter by the beginning of an id or by the text of a tag has no index: each
        call looks at a bounded number of executions, so a page may be short, even empty, though
        `next_cursor` is set.
        """
        return await self._list(
            Listing(
                wanted=Filter() if wanted is None else wanted,
                limit=limit,
                cursor=cursor,
                total=total,
                whys=whys,
            )
        )

    @abstractmethod
    async def _list(self, listing: Listing) -> Page:
        """Return a page of executions."""

    @abstractmethod
    async def causes(
        self,
        *,
        tenant: str | None = None,
        kind: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Cause]:
        """Return why executions that ended in this time failed or expired.

        They are grouped by task, type and code of the error, and its place; the most frequent
        cause is first.
        """

    @abstractmethod
    async def count(self, tenant: str | None = None) -> Sequence[Count]:
        """Return exact counts by tenant, lane, kind and state."""

    @abstractmethod
    async def explain(self, execution_id: str) -> Explanation:
        """Explain why an execution is not running."""

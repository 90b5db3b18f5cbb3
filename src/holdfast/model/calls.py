"""Checks of the arguments of calls on executions; engine and client use them before sending."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from holdfast.model import bounds, checks, references
from holdfast.model.executions import Failure, Lease, NewExecution


def check_items(items: Sequence[NewExecution]) -> None:
    """Check the items of a submission."""
    checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
    for number, item in enumerate(items):
        checks.instance(f"items[{number}]", item, NewExecution)


def check_holder(execution_id: str, lease: Lease) -> None:
    """Check the lease of a holder's call."""
    checks.execution_id("id", execution_id)
    checks.instance("lease", lease, Lease)


def check_renewal(held: Sequence[tuple[str, Lease]], lease_ms: int) -> None:
    """Check the leases of a renewal."""
    checks.lease_ms("lease_ms", lease_ms)
    for execution_id, lease in held:
        checks.execution_id("execution", execution_id)
        checks.instance("lease", lease, Lease)


def check_result(result: bytes, content_type: str | None) -> None:
    """Check the result of an execution."""
    checks.payload("result", result)
    if content_type is not None:
        checks.text("content_type", content_type, bounds.CONTENT_TYPE_CHARS)


class Completion(NamedTuple):
    """An execution that its holder ends, among others."""

    execution_id: str
    lease: Lease
    result: bytes
    content_type: str | None = None

    def check(self) -> None:
        """Check the fields."""
        check_holder(self.execution_id, self.lease)
        check_result(self.result, self.content_type)
        references.check_is_none("result", self.result)


def check_failure(failure: Failure) -> None:
    """Check the failure of an attempt."""
    checks.instance("failure", failure, Failure)


def check_progress(pct: float, message: str) -> None:
    """Check a report of progress."""
    checks.number("pct", pct, 0, 100)
    checks.text("message", message, bounds.PROGRESS_CHARS)


def check_step(name: str, result: bytes) -> None:
    """Check the name and the result of a step."""
    checks.text("step", name, bounds.STEP_NAME_CHARS, empty=False)
    checks.payload("result", result)


def check_view_request(execution_id: str, after: int, timeout_s: float) -> None:
    """Check the version that the reader of a view has, and its patience."""
    checks.execution_id("id", execution_id)
    checks.integer("after", after, 0, bounds.AMOUNT)
    check_patience(timeout_s)


def check_reasoned(execution_id: str, reason: str) -> None:
    """Check the optional reason of an operator's call."""
    checks.execution_id("id", execution_id)
    checks.text("reason", reason, bounds.REASON_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An ended execution to run again."""

    execution_id: str
    #: Whether its recorded steps stay; or only those before `from_step`.
    keep_steps: bool
    from_step: str | None
    reason: str

    def __post_init__(self) -> None:
        check_reasoned(self.execution_id, self.reason)
        checks.flag("keep_steps", self.keep_steps)
        if self.from_step is not None:
            checks.text("from_step", self.from_step, bounds.STEP_NAME_CHARS, empty=False)
            if self.keep_steps:
                checks.refuse("from_step", "cannot be combined with keep_steps", self.from_step)


def check_priority(execution_id: str, priority: int) -> None:
    """Check a new priority."""
    checks.execution_id("id", execution_id)
    checks.integer("priority", priority, -bounds.PRIORITY, bounds.PRIORITY)


def check_patience(timeout_s: float | None) -> None:
    """Check a timeout; None waits for ever."""
    if timeout_s is not None:
        checks.number("timeout_s", timeout_s, 0, bounds.DURATION_MS / 1000)


def check_causes(
    tenant: str | None, kind: str | None, since: datetime | None, until: datetime | None
) -> None:
    """Check which causes of failures are wanted."""
    if tenant is not None:
        checks.name("tenant", tenant)
    if kind is not None:
        checks.kind("kind", kind)
    for name, moment in (("since", since), ("until", until)):
        if moment is not None:
            checks.instant(name, moment)


def check_page(limit: int, tenant: str | None = None) -> None:
    """Check the limit and the cursor of a page."""
    checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
    if tenant is not None:
        checks.name("tenant", tenant)

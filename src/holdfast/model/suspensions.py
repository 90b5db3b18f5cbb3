"""Suspensions: a lease holder waits until a condition on waitpoints holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.model import bounds, checks
from holdfast.model.executions import Lease
from holdfast.model.waitpoints import ON_TIMEOUT, WAIT_REASONS, NewWaitpoint, Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSuspension:
    """An execution to suspend. The condition is checked when the names of waitpoints are known."""

    execution_id: str
    lease: Lease
    #: New ones, and prepared ones or their ids.
    waitpoints: Sequence[NewWaitpoint | Prepared | str]
    condition: Mapping[str, Any]
    timeout_ms: int | None
    on_timeout: str
    reason: str
    #: A second call with the same key has no effect.
    key: str

    def __post_init__(self) -> None:
        checks.execution_id("id", self.execution_id)
        checks.instance("lease", self.lease, Lease)
        if self.timeout_ms is not None:
            checks.integer("timeout_ms", self.timeout_ms, 1, bounds.DURATION_MS)
        checks.one_of("on_timeout", self.on_timeout, ON_TIMEOUT)
        checks.one_of("reason", self.reason, WAIT_REASONS)
        checks.text("key", self.key, bounds.ID_CHARS, empty=False)

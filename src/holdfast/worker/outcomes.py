"""Exceptions that user code raises to end an attempt, and those that are raised through it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from holdfast.model.waitpoints import Source


class Retry(Exception):
    """Try again, if the policy allows; `after` replaces its backoff."""

    def __init__(self, reason: str = "retry", *, after: float | timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


class GiveUp(Exception):
    """End the execution as failed, regardless of its policy."""


class WaitTimedOut(Exception):
    """No answer came in time. A task may catch it and continue."""


class InvalidAnswer(GiveUp):
    """The user gave no valid answer, however often the conversation asked."""


class Denied(Exception):
    """A person denied the approval that `wait_for(..., approvers=n)` asked for."""

    def __init__(self, payload: Any, source: Source) -> None:
        super().__init__(f"denied by {source.identity or 'an unnamed person'}")
        self.payload = payload
        self.source = source


class NotApproved(Denied):
    """An operator resumed the execution before enough people approved."""

    def __init__(self, payload: Any, source: Source) -> None:
        super().__init__(payload, source)
        self.args = (f"not approved: {source.identity or 'an operator'} resumed the execution",)


class Interruption(BaseException):
    """Raised through user code, which cannot catch it with `except Exception`."""


class AttemptPaused(Interruption):
    """The attempt continues later, on any worker."""

    def __init__(self, delay_ms: int) -> None:
        super().__init__(f"continues in {delay_ms} ms")
        self.delay_ms = delay_ms


class AttemptSuspended(Interruption):
    """The lease is returned; the attempt continues when its wait ends."""


class AttemptLost(Interruption):
    """The lease was lost: cancelled, revoked or expired. The attempt must write nothing more."""


class Continued(Interruption):
    """The execution starts again with this input and an empty journal, under the same lease."""

    def __init__(self, payload: bytes) -> None:
        super().__init__("starts again with another input")
        self.payload = payload

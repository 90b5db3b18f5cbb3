"""What user code raises to say how an attempt ends, and what is raised through it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from holdfast.model.waitpoints import Source


class Retry(Exception):
    """Try again, as far as the policy allows; `after` replaces its backoff."""

    def __init__(self, reason: str = "retry", *, after: float | timedelta | None = None) -> None:
        super().__init__(reason)
        self.after = after


class GiveUp(Exception):
    """End the execution as failed, whatever its policy."""


class WaitTimedOut(Exception):
    """Nobody answered in time. A task may catch it and go on."""


class InvalidAnswer(GiveUp):
    """The user gave no valid answer, however often the conversation asked."""


class Denied(Exception):
    """Somebody denied what `wait_for(..., approvers=n)` asked for."""

    def __init__(self, payload: Any, source: Source) -> None:
        super().__init__(f"denied by {source.identity or 'somebody'}")
        self.payload = payload
        self.source = source


class Interruption(BaseException):
    """Raised through user code, which cannot catch it with `except Exception`."""


class AttemptPaused(Interruption):
    """The attempt goes on later, on any worker."""

    def __init__(self, delay_ms: int) -> None:
        super().__init__(f"goes on in {delay_ms} ms")
        self.delay_ms = delay_ms


class AttemptSuspended(Interruption):
    """The lease is given back; the attempt goes on when what it waits for has come."""


class AttemptLost(Interruption):
    """The lease is gone: cancelled, revoked, expired. Nothing more may be written."""


class Continued(Interruption):
    """The execution starts again with this input and an empty journal, under the same lease."""

    def __init__(self, payload: bytes) -> None:
        super().__init__("starts again with another input")
        self.payload = payload

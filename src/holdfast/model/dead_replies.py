"""Dead replies: what no sender could deliver, and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.model.session_keys import SessionKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadReply:
    """A reply that its sender gave up on, or that its provider reported as failed."""

    session: str
    #: Its number in the transcript.
    number: int
    key: SessionKey
    died_at: datetime
    #: Why it was given up.
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadReplyPage:
    """A page of dead replies, the last to die first."""

    items: tuple[DeadReply, ...]
    next_cursor: str | None = None

"""Deliveries of messages to consumers, and how they are settled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from holdfast.model import bounds, checks
from holdfast.model.messages import Message

Verb = Literal["ack", "nack", "release", "reject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message handed to a consumer: the handle is the right to settle it."""

    handle: str
    message: Message
    deadline: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """Deliveries that were taken over, and where to continue."""

    deliveries: list[Delivery]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settle:
    """One delivery to settle."""

    handle: str
    #: nack: the delay before the next delivery; by default the queue's backoff.
    delay_ms: int | None = None
    #: nack, reject: the reason; kept with the message.
    reason: str = ""

    def __post_init__(self) -> None:
        checks.text("handle", self.handle, bounds.ID_CHARS, empty=False)
        if self.delay_ms is not None:
            checks.integer("delay_ms", self.delay_ms, 0, bounds.DURATION_MS)
        checks.text("reason", self.reason, bounds.REASON_CHARS)


@dataclass(frozen=True, slots=True)
class Settled:
    """A delivery is settled."""

    #: By an earlier call of the same verb.
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDelivery:
    """A delivery under way, without its handle."""

    id: str
    key: str | None
    consumer: str
    attempt: int
    #: The time of the delivery, or of the last extension.
    since: datetime
    deadline: datetime

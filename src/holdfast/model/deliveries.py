"""Deliveries of messages to consumers, and how they are settled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from holdfast.model import bounds, checks
from holdfast.model.messages import SIDES, Message, Side

Verb = Literal["ack", "nack", "release", "reject"]

#: A deadline and the id of a message.
_CLAIM_CURSOR = re.compile(r"[0-9]{1,16}\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A read of messages by a consumer."""

    queue: str
    consumer: str
    group: str | None
    count: int
    side: Side
    #: How long to wait for the first message.
    wait_ms: int

    def __post_init__(self) -> None:
        checks.queue("queue", self.queue)
        if self.group is not None:
            checks.name("group", self.group)
        checks.name("consumer", self.consumer)
        checks.integer("count", self.count, 1, bounds.CLAIM_ITEMS)
        checks.one_of("side", self.side, SIDES)
        checks.integer("wait_ms", self.wait_ms, 0, bounds.DURATION_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """Idle deliveries that another consumer of the group takes over."""

    queue: str
    consumer: str
    min_idle_ms: int
    group: str | None
    count: int
    #: Where to continue; None begins with the oldest.
    cursor: str | None

    def __post_init__(self) -> None:
        checks.queue("queue", self.queue)
        if self.group is not None:
            checks.name("group", self.group)
        checks.name("consumer", self.consumer)
        checks.integer("min_idle_ms", self.min_idle_ms, 0, bounds.DURATION_MS)
        checks.integer("count", self.count, 1, bounds.CLAIM_ITEMS)
        if self.cursor is not None:
            checks.text("cursor", self.cursor, 2 * bounds.ID_CHARS)
            if self.cursor and not _CLAIM_CURSOR.match(self.cursor):
                checks.refuse("cursor", "must be one that a claim returned", self.cursor)


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

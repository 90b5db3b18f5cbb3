"""Messages of queues: what is pushed, kept and listed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, Self

from holdfast.model import bounds, checks, json_values

Side = Literal["left", "right"]

SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to push. Its fields are checked when it is made; nothing is clamped."""

    #: Opaque to Holdfast.
    payload: bytes
    #: Generated if absent. A given id is also the dedup key, unless `dedup` is set.
    id: str | None = None
    #: -1000..1000, on queues with priorities.
    priority: int = 0
    #: Messages with the same key are handed out one after the other.
    key: str | None = None
    dedup: str | None = None
    delay_ms: int = 0
    ttl_ms: int | None = None
    side: Side = "right"

    def __post_init__(self) -> None:
        checks.payload("payload", self.payload)
        if self.id is not None:
            checks.own_id("id", self.id)
        checks.integer("priority", self.priority, -bounds.PRIORITY, bounds.PRIORITY)
        for name in ("key", "dedup"):
            value = getattr(self, name)
            if value is not None:
                checks.text(name, value, bounds.KEY_CHARS, empty=False)
        checks.integer("delay_ms", self.delay_ms, 0, bounds.DURATION_MS)
        if self.ttl_ms is not None:
            checks.integer("ttl_ms", self.ttl_ms, 1, bounds.DURATION_MS)
        checks.one_of("side", self.side, SIDES)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Make one from a mapping; refuses unknown fields."""
        checks.known_fields("message", values, (f.name for f in fields(cls)))
        if "payload" not in values:
            checks.refuse("payload", "is required", None)
        return cls(**values)

    def digest(self) -> str:
        """Return a short digest of the body, to distinguish a repetition from a conflict.

        The same JSON written differently is the same body.
        """
        content = json_values.canonical(self.payload) + b"\0" + (self.key or "").encode()
        return hashlib.blake2b(content, digest_size=9).hexdigest()


@dataclass(frozen=True, slots=True)
class Pushed:
    """The answer to a push."""

    id: str
    #: A message with this id or dedup key was pushed before; `id` is its id.
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """The envelope of a message that was given up."""

    origin: str
    group: str
    id: str
    attempts: int
    first_at: datetime | None
    last_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as a consumer or an operator sees it."""

    id: str
    payload: bytes
    key: str | None
    #: Deliveries to the group so far; for a consumer, the number of this one, from 1.
    attempt: int
    enqueued_at: datetime
    dead_letter: DeadLetter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """Which dead letters to redrive: all, or those with these properties."""

    origin: str | None = None
    group: str | None = None
    #: A part of the reason.
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.origin is not None:
            checks.queue("filter.origin", self.origin)
        if self.group is not None:
            checks.name("filter.group", self.group)
        if self.reason is not None:
            checks.text("filter.reason", self.reason, bounds.REASON_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redrive:
    """Dead letters to send back."""

    queue: str
    #: Where they go; None: each to the queue that it came from.
    to: str | None
    wanted: LetterFilter
    #: How many at the most; None means all.
    limit: int | None
    rate_per_s: float | None
    dry_run: bool

    def __post_init__(self) -> None:
        checks.queue("queue", self.queue)
        if self.to is not None:
            check_target(self.queue, self.to)
        if self.limit is not None:
            checks.integer("limit", self.limit, 1, bounds.QUEUE_SIZE)
        if self.rate_per_s is not None:
            checks.number("rate_per_s", self.rate_per_s, 0.001, 1_000_000)
        checks.flag("dry_run", self.dry_run)
        checks.instance("filter", self.wanted, LetterFilter)


def check_target(queue: str, to: str) -> None:
    """Check the queue that messages move to."""
    if queue == checks.queue("to", to):
        checks.refuse("to", "must name a different queue", to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a new group starts: at the first message, the end, after a message, or at a time."""

    place: Literal["first", "end", "after", "at"] = "first"
    after: str | None = None
    at: datetime | None = None

    def __post_init__(self) -> None:
        checks.one_of("start", self.place, ("first", "end", "after", "at"))
        if (self.place == "after") != (self.after is not None):
            checks.refuse("start.after", "requires a start after a message", self.after)
        if (self.place == "at") != (self.at is not None):
            checks.refuse("start.at", "requires a start at a time", self.at)
        if self.after is not None:
            checks.own_id("start.after", self.after)
        if self.at is not None:
            checks.instant("start.at", self.at)

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """Make one of `first`, `end`, {"after": id} or {"at": moment}."""
        if value in ("first", "end"):
            return cls(place=value)
        if not isinstance(value, Mapping) or len(value) != 1:
            checks.refuse("start", "must be first, end, {after: id} or {at: time}", value)
        checks.known_fields("start", value, ("after", "at"))
        return cls(place="after" if "after" in value else "at", **value)

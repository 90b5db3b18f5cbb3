"""Values that describe message queues: requests, and their state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, Self

from holdfast.model import bounds, checks, json_values
from holdfast.model.retry import Backoff

Mode = Literal["work", "fanout"]
Side = Literal["left", "right"]
Verb = Literal["ack", "nack", "release", "reject"]

SIDES = ("left", "right")
#: The only group of a WORK queue.
DEFAULT_GROUP = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The definition of a queue. Its fields are checked when it is made; nothing is clamped."""

    #: work: consumers share the messages. fanout: each group gets them all.
    mode: Mode = "work"
    #: The maximum number of deliveries of a message to a group, including the first.
    max_attempts: int = 3
    #: How long a consumer may keep a delivery without extending it.
    lock_ms: int = 30_000
    #: The queue for messages that were delivered `max_attempts` times; without it they are dropped.
    dead_letter: str | None = None
    #: The waits after the first, second, ... nack; the last one repeats.
    backoff: tuple[int, ...] = ()
    #: How long a message's id or dedup key is remembered.
    dedup_window_ms: int = 300_000
    #: Messages expire after this long, unless a message sets its own time.
    ttl_ms: int | None = None
    #: The maximum number of stored messages, including those in flight and delayed.
    max_size: int | None = None
    #: Higher priority comes first; each point counts as `ageing_ms` of waiting.
    priority: bool = False
    ageing_ms: int = 3_600_000
    #: Deliveries under way, per group and per consumer of a group.
    max_in_flight: int | None = None
    max_in_flight_per_consumer: int | None = None

    def __post_init__(self) -> None:
        checks.one_of("mode", self.mode, ("work", "fanout"))
        checks.integer("max_attempts", self.max_attempts, 1, bounds.MAX_ATTEMPTS)
        checks.integer("lock_ms", self.lock_ms, bounds.LOCK_MIN_MS, bounds.LOCK_MAX_MS)
        if self.dead_letter is not None:
            checks.queue("dead_letter", self.dead_letter)
        object.__setattr__(self, "backoff", _backoff(self.backoff))
        checks.integer("dedup_window_ms", self.dedup_window_ms, 0, bounds.DURATION_MS)
        checks.integer("ageing_ms", self.ageing_ms, 1, 86_400_000)
        checks.flag("priority", self.priority)
        for name, most in _OPTIONAL_SETTINGS:
            value = getattr(self, name)
            if value is not None:
                checks.integer(name, value, 1, most)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Make one from a mapping; `retry_delay_ms` is a backoff of one wait."""
        given = dict(values)
        delay = given.pop("retry_delay_ms", None)
        if delay is not None:
            if given.get("backoff"):
                checks.refuse("retry_delay_ms", "cannot be combined with backoff", delay)
            given["backoff"] = (checks.integer("retry_delay_ms", delay, 0, bounds.DURATION_MS),)
        checks.known_fields("queue", given, (f.name for f in fields(cls)))
        return cls(**given)


_OPTIONAL_SETTINGS = (
    ("ttl_ms", bounds.DURATION_MS),
    ("max_size", bounds.QUEUE_SIZE),
    ("max_in_flight", bounds.IN_FLIGHT),
    ("max_in_flight_per_consumer", bounds.IN_FLIGHT),
)


def _backoff(value: Any) -> tuple[int, ...]:
    if isinstance(value, Mapping):
        checks.known_fields("backoff", value, (f.name for f in fields(Backoff)))
        value = Backoff(**value)
    if isinstance(value, Backoff):
        factor = value.factor if value.kind == "exponential" else 1.0
        waits = (value.initial_ms * factor**n for n in range(bounds.BACKOFF_STEPS))
        return tuple(min(int(wait), value.max_ms) for wait in waits)
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        checks.refuse("backoff", "must be a list of waits in ms", value)
    if len(value) > bounds.BACKOFF_STEPS:
        checks.refuse("backoff", f"must have at most {bounds.BACKOFF_STEPS} waits", value)
    return tuple(
        checks.integer(f"backoff[{n}]", wait, 0, bounds.DURATION_MS) for n, wait in enumerate(value)
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStats:
    """Counts of a group: pushed is the sum of all others."""

    pushed: int
    ready: int
    delayed: int
    in_flight: int
    acked: int
    dead: int
    dropped: int
    expired: int
    purged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """Counts of a queue. For a FANOUT queue: pushed = stored + collected + expired + purged."""

    mode: Mode
    pushed: int
    stored: int
    collected: int
    expired: int
    purged: int
    #: Dead letters and forwarded messages that are on their way to other queues.
    owed: int
    groups: Mapping[str, GroupStats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A queue with its definition."""

    name: str
    settings: QueueSettings
    created_at: datetime
    groups: tuple[str, ...]
    #: The whole queue is paused, or these groups are.
    paused: bool = False
    paused_groups: tuple[str, ...] = ()
    #: Other queues send their dead letters here.
    takes_dead_letters: bool = False
    #: The last dropped messages, newest first.
    dropped: tuple[DeadLetter, ...] = ()


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

"""Message queues: their settings, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, Self

from holdfast.model import bounds, checks
from holdfast.model.messages import DeadLetter
from holdfast.model.retry import Backoff

Mode = Literal["work", "fanout"]

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

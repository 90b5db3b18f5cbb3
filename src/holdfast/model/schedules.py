"""Schedules: executions that are submitted at set times."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, Self

import msgspec

from holdfast.model import bounds, checks, json_values, names
from holdfast.model.declarations import stated
from holdfast.model.executions import NewExecution
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.timing import Timing, jitter_of

CatchUp = Literal["none", "one", "all"]
Overlap = Literal["allow", "skip", "queue"]

CATCH_UPS: tuple[CatchUp, ...] = ("none", "one", "all")
OVERLAPS: tuple[Overlap, ...] = ("allow", "skip", "queue")

#: A tick that fires later than this was missed, and `catch_up` decides what happens to it.
GRACE_MS = 60_000
#: The tag for listing the executions of a schedule.
TAG = "schedule"

_TIMING = tuple(f.name for f in fields(Timing))
_NOT_IN_TEMPLATE = ("id", "idempotency_key", "delay_ms", "run_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """A schedule to create. Its fields are checked when it is made."""

    id: str
    #: The execution to submit at every tick; it has no id, key or time of its own.
    execution: NewExecution
    #: When it fires.
    timing: Timing
    #: What happens to ticks that were missed while no scheduler ran.
    catch_up: CatchUp = "none"
    #: With `all`: the maximum number of missed ticks to fire, the latest ones.
    catch_up_limit: int = 100
    #: What happens to a tick while an earlier execution has not ended.
    overlap: Overlap = "allow"
    #: Every tick fires up to this much later, at random.
    jitter_ms: int = 0
    paused: bool = False

    def __post_init__(self) -> None:
        checks.name("id", self.id)
        checks.instance("execution", self.execution, NewExecution)
        checks.instance("timing", self.timing, Timing)
        checks.one_of("catch_up", self.catch_up, CATCH_UPS)
        checks.integer("catch_up_limit", self.catch_up_limit, 1, bounds.CATCH_UP)
        checks.one_of("overlap", self.overlap, OVERLAPS)
        checks.integer("jitter_ms", self.jitter_ms, 0, bounds.JITTER_MS)
        checks.flag("paused", self.paused)
        if self.timing.every_ms is not None and self.jitter_ms > self.timing.every_ms:
            checks.refuse("jitter_ms", "must not be longer than every_ms", self.jitter_ms)
        for name in _NOT_IN_TEMPLATE:
            if getattr(self.execution, name) is not None:
                problem = "cannot be set: the schedule sets it"
                checks.refuse(f"execution.{name}", problem, getattr(self.execution, name))

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Make one from a flat mapping, such as {id, cron, execution}; refuses unknown fields."""
        known = {f.name for f in fields(cls)} - {"timing"}
        checks.known_fields("schedule", values, known | set(_TIMING))
        for name in ("id", "execution"):
            if name not in values:
                checks.refuse(name, "is required", None)
        timing = Timing(**{name: values[name] for name in _TIMING if name in values})
        rest = {name: value for name, value in values.items() if name in known}
        return cls(timing=timing, **rest)

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with some fields changed; a new kind of timing replaces the old one."""
        known = {f.name for f in fields(self)} - {"timing", "id"}
        checks.known_fields("schedule", changes, known | set(_TIMING))
        if "execution" in changes:
            execution = checks.instance("execution", changes["execution"], NewExecution)
            if execution.tenant != self.execution.tenant:
                problem = f"must stay {self.execution.tenant}: a schedule cannot change its tenant"
                checks.refuse("execution.tenant", problem, execution.tenant)
        times = {name: changes[name] for name in _TIMING if name in changes}
        timing = self.timing
        if times:
            kinds = {"cron", "every_ms", "at"}
            kept = {name: getattr(timing, name) for name in _TIMING}
            if kinds & times.keys():
                kept = {"timezone": timing.timezone} if "cron" in times else {}
            timing = Timing(**{**kept, **times})
        rest = {name: value for name, value in changes.items() if name in known}
        return replace(self, timing=timing, **rest)

    @property
    def stored_id(self) -> str:
        """The id in the store: a schedule belongs to the tenant of its executions."""
        return names.stored_schedule(self.execution.tenant, self.id)

    def encode(self) -> bytes:
        """Encode it as bytes."""
        return msgspec.msgpack.encode(replace(self, paused=False))

    def digest(self) -> str:
        """Return a short digest of the content, without whether it is paused.

        An input that is the same JSON written differently is the same content.
        """
        execution = self.execution.kept_as(json_values.canonical(self.execution.input))
        content = replace(self, paused=False, execution=execution)
        packed = msgspec.msgpack.encode(content, order="deterministic")
        return hashlib.blake2b(packed, digest_size=9).hexdigest()

    def due(self, tick: int) -> int:
        """Return when a tick fires, in ms."""
        return tick + jitter_of(self.id, tick, self.jitter_ms)


_unpack = msgspec.msgpack.Decoder(NewSchedule).decode


def decode_schedule(packed: bytes, *, paused: bool) -> NewSchedule:
    """Decode an encoded schedule."""
    return replace(_unpack(packed), paused=paused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The state of a schedule."""

    plan: NewSchedule
    version: int
    #: The next tick, in ms; None if there is none, or the schedule is paused.
    next_ms: int | None
    created_at: datetime
    changed_at: datetime
    #: The last tick that was handled.
    last_ms: int | None
    #: The last execution that a tick fired.
    last_execution: str | None
    #: How many ticks were fired, skipped because of overlap, and missed.
    fired: int
    skipped: int
    missed: int
    #: Executions that have not ended, and those that wait for them.
    running: int
    queued: int
    #: Why a tick could not be fired the last time that happened.
    error: str | None

    @property
    def id(self) -> str:
        """The id as its tenant uses it."""
        return self.plan.id

    @property
    def tenant(self) -> str:
        """The tenant of its executions."""
        return self.plan.execution.tenant

    @property
    def is_declared(self) -> bool:
        """Whether a worker wrote it, from the declaration of its task.

        It then states every option of the task. One that is made by hand leaves some to the task.
        """
        return not self.plan.execution.unset

    @property
    def anchor_ms(self) -> int:
        """The time that an interval counts from."""
        return to_ms(self.created_at)

    @property
    def next_at(self) -> datetime | None:
        """When it fires next."""
        return None if self.next_ms is None else from_ms(self.plan.due(self.next_ms))

    @property
    def last_at(self) -> datetime | None:
        """The last tick that was handled."""
        return None if self.last_ms is None else from_ms(self.last_ms)

    def view(self) -> dict[str, Any]:
        """Return the flat JSON form, with the fields of `NewSchedule.from_fields` and more."""
        timing = {name: getattr(self.plan.timing, name) for name in _TIMING}
        execution = stated(self.plan.execution)
        execution["input"] = _shown(self.plan.execution.input)
        return {
            "id": self.id,
            "tenant": self.tenant,
            **{name: value for name, value in timing.items() if value is not None},
            "execution": execution,
            "catch_up": self.plan.catch_up,
            "catch_up_limit": self.plan.catch_up_limit,
            "overlap": self.plan.overlap,
            "jitter_ms": self.plan.jitter_ms,
            "paused": self.plan.paused,
            "version": self.version,
            "next_at": self.next_at,
            "last_at": self.last_at,
            "last_execution": self.last_execution,
            "fired": self.fired,
            "skipped": self.skipped,
            "missed": self.missed,
            "running": self.running,
            "queued": self.queued,
            "error": self.error,
            "created_at": self.created_at,
            "changed_at": self.changed_at,
        }


def _shown(data: bytes) -> Any:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return data
    return msgspec.Raw(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulePage:
    """A page of schedules, by id."""

    items: tuple[Schedule, ...]
    next_cursor: str | None

"""Values that describe executions: requests, and their state."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, NewType, Self

import msgspec

from holdfast.errors import ExecutionFailed
from holdfast.model import bounds, checks, references
from holdfast.model.bonds import OnParentEnd, check_policy
from holdfast.model.moments import to_ms
from holdfast.model.quotas import Window
from holdfast.model.retry import RetryPolicy
from holdfast.model.session_keys import SessionRef
from holdfast.model.states import AttemptKind, Hold, State, StateVector, state_vector
from holdfast.model.urls import check_url
from holdfast.model.waitpoints import Signal

ExecutionId = NewType("ExecutionId", str)

JSON_CONTENT_TYPE = "application/json"

#: Options that a task declares for all its executions; a submission can override them.
OPTIONS = frozenset(
    {
        *("lane", "priority", "requires", "deadline_ms", "attempt_timeout_ms", "retry"),
        *("max_reclaims", "retention_ms", "tags", "budgets", "quotas", "on_end", "on_parent_end"),
    }
)
#: Stands for the options that have their default value.
_AS_DEFAULT = frozenset({"*"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewExecution:
    """An execution to create. Its fields are checked when it is made; nothing is clamped."""

    kind: str
    #: Opaque to Holdfast.
    input: bytes = b"null"
    #: Generated if absent. Ids with the same part before a `~` share a partition.
    id: str | None = None
    tenant: str = "default"
    lane: str = "default"
    #: -1000..1000; each point counts as a minute of waiting.
    priority: int = 0
    #: Capabilities that a worker must have, all of them.
    requires: tuple[str, ...] = ()
    delay_ms: int | None = None
    run_at: datetime | None = None
    #: The execution expires this long after its creation, in any state.
    deadline_ms: int | None = None
    #: A longer attempt is ended and uses up a retry.
    attempt_timeout_ms: int | None = None
    #: Without a policy there is one attempt.
    retry: RetryPolicy | None = None
    #: How often the execution may lose its worker before it fails; default 20.
    max_reclaims: int | None = None
    #: How often it may be replayed; default 10.
    max_replays: int | None = None
    #: Remembered as long as the execution is kept.
    idempotency_key: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    #: How long it is kept after its end; default by outcome and tenant.
    retention_ms: int | None = None
    #: Budgets that it spends from; it starts only while each has something left.
    budgets: tuple[str, ...] = ()
    #: Quotas that must admit it before it starts.
    quotas: tuple[str, ...] = ()
    #: The URL of a webhook that is called when it has ended.
    on_end: str | None = field(default=None, repr=False)
    #: What happens to a child when its parent ends; without a parent it means nothing.
    on_parent_end: str = OnParentEnd.KEEP
    #: The last submission with this key wins: it starts when no other has come for the window.
    debounce: Window | None = None
    #: The first submission with this key wins: later ones within the window return it.
    throttle: Window | None = None
    #: The trace context of its submission (W3C Trace Context).
    traceparent: str | None = None
    #: Whether its input must fit the schema that workers published for the task.
    check: bool = True
    #: The options that it leaves to the declaration of the task. By default, those that have
    #: their default value.
    unset: frozenset[str] = _AS_DEFAULT
    #: The digest of the submission, before the declaration of the task filled in the rest.
    said: str | None = None

    def __post_init__(self) -> None:
        checks.kind("kind", self.kind)
        checks.flag("check", self.check)
        if self.unset == _AS_DEFAULT:
            object.__setattr__(self, "unset", OPTIONS - self.chosen().keys())
        references.check_is_none("input", checks.payload("input", self.input))
        checks.name("tenant", self.tenant)
        checks.name("lane", self.lane)
        if self.id is not None:
            checks.id_of("id", self.id, self.tenant)
        if self.idempotency_key is not None:
            key = self.idempotency_key
            checks.text("idempotency_key", key, bounds.ID_CHARS, empty=False)
        checks.integer("priority", self.priority, -bounds.PRIORITY, bounds.PRIORITY)
        if self.requires != ():
            names = checks.names("requires", self.requires, bounds.CAPABILITIES)
            object.__setattr__(self, "requires", names)
        if self.tags != {}:
            object.__setattr__(self, "tags", checks.tags("tags", self.tags))
        if self.on_end is not None:
            check_url("on_end", self.on_end)
        if self.on_parent_end is not OnParentEnd.KEEP:
            check_policy(self.on_parent_end)
        if self.traceparent is not None:
            checks.traceparent("traceparent", self.traceparent)
        self._check_times()
        self._check_caps()
        self._check_limits()

    def _check_times(self) -> None:
        for name, least in _DURATIONS:
            value = getattr(self, name)
            if value is not None:
                checks.integer(name, value, least, bounds.DURATION_MS)
        if self.run_at is not None:
            checks.instant("run_at", self.run_at)
            if self.delay_ms is not None:
                checks.refuse("run_at", "cannot be combined with delay_ms", self.run_at)

    def _check_caps(self) -> None:
        if self.max_reclaims is not None:
            checks.integer("max_reclaims", self.max_reclaims, 0, bounds.MAX_RECLAIMS)
        if self.max_replays is not None:
            checks.integer("max_replays", self.max_replays, 0, bounds.MAX_REPLAYS)
        if self.retry is not None:
            checks.instance("retry", self.retry, RetryPolicy)

    def _check_limits(self) -> None:
        for name, most in (("budgets", bounds.BUDGETS), ("quotas", bounds.QUOTAS)):
            if getattr(self, name) != ():
                given = checks.names(name, getattr(self, name), most, check=checks.limit)
                object.__setattr__(self, name, given)
        for name in ("debounce", "throttle"):
            window = getattr(self, name)
            if window is None:
                continue
            checks.instance(name, window, Window)
            for other in ("id", "idempotency_key", *_CLASHES[name]):
                if getattr(self, other) is not None:
                    checks.refuse(name, f"cannot be combined with {other}", window)

    @property
    def is_named(self) -> bool:
        """Whether its caller gave it an id or a key, so that it may be submitted again."""
        return self.id is not None or self.idempotency_key is not None

    @property
    def window(self) -> Window | None:
        """The window of its debounce or throttle."""
        return self.debounce or self.throttle

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Make one from a mapping; refuses unknown fields."""
        checks.known_fields("execution", values, GIVEN)
        if "kind" not in values:
            checks.refuse("kind", "is required", None)
        return cls(**values, unset=OPTIONS - values.keys())

    def chosen(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        options = {name: getattr(self, name) for name in sorted(OPTIONS)}
        return {name: value for name, value in options.items() if value != DEFAULTS[name]}

    def unchecked(self) -> Self:
        """Return a copy whose input is not checked against a schema."""
        other = self.kept_as(self.input)
        object.__setattr__(other, "check", False)
        return other

    def with_input(self, payload: bytes, traceparent: str | None = None) -> Self:
        """Return a copy with another input; only that is checked again."""
        references.check_is_none("input", checks.payload("input", payload))
        other = self.kept_as(payload)
        if traceparent is not None:
            object.__setattr__(other, "traceparent", traceparent)
        return other

    def kept_as(self, payload: bytes) -> Self:
        """Return a copy with the stored form of its input."""
        other = object.__new__(type(self))
        for slot in _SLOTS:
            slot.__set__(other, slot.__get__(self))
        object.__setattr__(other, "input", payload)
        return other

    def saying(self, digest: str) -> Self:
        """Return a copy with this digest of the submission."""
        other = self.kept_as(self.input)
        object.__setattr__(other, "said", digest)
        return other

    def digest(self, *, is_compared: bool = True) -> str:
        """Return a short digest of the content, to distinguish a repetition from a conflict.

        The same JSON written differently is the same content. Options that the declaration of the
        task filled in are not part of it, because they may change. A digest that is not compared
        with those of other calls is cheaper.
        """
        if self.said is not None:
            return self.said
        content = [getattr(self, name) for name in _FIELDS if name not in _NAMING]
        said = references.value_of(self.input) if is_compared else self.input
        content += [said, self.run_at and to_ms(self.run_at)]
        if self.on_end is not None:
            content.append(self.on_end)
        if self.on_parent_end != OnParentEnd.KEEP:
            content.append(str(self.on_parent_end))
        packed = msgspec.msgpack.encode(content, order="deterministic")
        return hashlib.blake2b(packed, digest_size=9).hexdigest()


_FIELDS = tuple(f.name for f in fields(NewExecution))
DEFAULTS: dict[str, Any] = {f.name: f.default for f in fields(NewExecution)} | {"tags": {}}
#: The fields that a caller may set.
GIVEN = tuple(name for name in _FIELDS if name not in {"unset", "said"})
_SLOTS = tuple(getattr(NewExecution, name) for name in _FIELDS)
_NAMING = frozenset({"id", "idempotency_key", "run_at", "input", "traceparent", "check"})
#: Fields that are in the digest only if they are set, and fields that never are.
_NAMING |= {"on_end", "on_parent_end", "unset", "said"}
_CLASHES = {"debounce": ("throttle", "delay_ms", "run_at"), "throttle": ("debounce",)}
_DURATIONS = (
    ("delay_ms", 0),
    ("deadline_ms", 1),
    ("attempt_timeout_ms", 1),
    ("retention_ms", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The answer to a creation."""

    id: ExecutionId
    state: State
    #: The execution already existed, with the same id or idempotency key.
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run an execution now. Every call of its holder carries it."""

    id: str
    epoch: int
    attempt: int

    @property
    def fence(self) -> str:
        """The lease as the store compares it."""
        return f"{self.id}:{self.epoch}:{self.attempt}"

    @classmethod
    def checked(cls, lease_id: Any, epoch: Any, attempt: Any) -> Self:
        """Make a lease from values from outside."""
        return cls(
            checks.name("lease.id", lease_id),
            checks.integer("lease.epoch", epoch, 1, 2**53),
            checks.integer("lease.attempt", attempt, 0, 2**53),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A recorded result of a step."""

    name: str
    result: bytes
    at: datetime


# Not frozen, like Claim: one is made for every result that a member gets.
@dataclass(slots=True, kw_only=True)
class Passed:
    """The result that an upstream passes to a member of a graph."""

    #: Its name in the input; with `[]` at its end, the name of a list that collects results.
    name: str
    on: str
    id: str
    #: None if it is too large to come with the claim and must be read.
    outcome: Outcome | None


# Not frozen: one is made for every execution, and making a frozen one takes twice as long.
@dataclass(slots=True, kw_only=True)
class Claim:
    """An execution handed to a worker, with the lease to run it."""

    id: ExecutionId
    tenant: str
    lane: str
    kind: str
    input: bytes
    lease: Lease
    expires_at: datetime
    attempt_kind: AttemptKind
    priority: int
    requires: tuple[str, ...]
    tags: Mapping[str, str]
    created_at: datetime
    deadline_at: datetime | None
    #: When this attempt times out.
    timeout_at: datetime | None
    #: How often the execution was replayed before.
    replays: int = 0
    #: Steps recorded so far, in the order of recording.
    steps: Mapping[str, bytes]
    #: The key of the wait that ended last, and the signals that ended it.
    resumed: str | None = None
    signals: tuple[Signal, ...] = ()
    #: The results of its upstreams, to be merged into the input.
    passed: Sequence[Passed] = ()
    budgets: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    #: The trace context of its submission.
    traceparent: str | None = None
    #: How often it started again with another input and an empty journal.
    continued: int = 0
    #: The session whose conversation it runs.
    session: SessionRef | None = None
    #: The worker keeps its coroutine: `steps` holds only the step at which that waits.
    kept: bool = False

    @property
    def run(self) -> str:
        """Which run of the function it is: it counts replays and starts with an empty journal."""
        return f"{self.replays}.{self.continued}" if self.continued else str(self.replays)

    @property
    def key(self) -> tuple[str, int]:
        """Identifies the claim: a worker may get an execution again whose lease it lost."""
        return self.id, self.lease.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error that ended an attempt."""

    type: str
    message: str
    #: False ends the execution regardless of its policy.
    retryable: bool = True
    #: Replaces the backoff of the policy.
    retry_after_ms: int | None = None
    details: Any = None

    def __post_init__(self) -> None:
        checks.text("error.type", self.type, bounds.ERROR_TYPE_CHARS, empty=False)
        if not isinstance(self.message, str):
            checks.refuse("error.message", "must be a string", self.message)
        checks.flag("error.retryable", self.retryable)
        if self.retry_after_ms is not None:
            field_name = "error.retry_after_ms"
            checks.integer(field_name, self.retry_after_ms, 0, bounds.DURATION_MS)

    def to_json(self) -> bytes:
        """Encode the stored part: type, message, details."""
        kept = {"type": self.type, "message": self.message}
        if self.details is not None:
            kept["details"] = self.details
        try:
            encoded = msgspec.json.encode(kept)
        except (TypeError, ValueError, UnicodeError) as error:
            checks.refuse("error", f"must be JSON ({error})", kept)
        return checks.payload("error", encoded, bounds.ERROR_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The description of an execution."""

    id: ExecutionId
    tenant: str
    lane: str
    kind: str
    priority: int
    requires: tuple[str, ...]
    state: State
    hold: Hold | None
    attempt_kind: AttemptKind
    #: The next claim continues the attempt that a delay or a wait interrupted.
    attempt_open: bool
    #: Attempts started so far.
    attempts: int
    #: Failed attempts since the creation or the last replay.
    failures: int
    reclaims: int
    replays: int
    epoch: int
    worker: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    run_at: datetime | None
    #: When a suspended execution stops waiting, and what happens then.
    wait_until: datetime | None = None
    on_timeout: str | None = None
    deadline_at: datetime | None
    lease_expires_at: datetime | None
    timeout_at: datetime | None
    #: When retention removes it.
    forget_at: datetime | None
    progress_pct: float | None
    progress_message: str | None
    #: The error of a failed execution: type, message, details.
    error: Mapping[str, Any] | None
    #: Why it was cancelled.
    reason: str | None
    tags: Mapping[str, str]
    idempotency_key: str | None
    #: The graph it is a member of.
    graph: str | None = None
    #: The execution whose task submitted it, alone or in a graph.
    parent: str | None = None
    #: What happens to it when its parent ends; None if it has no parent.
    on_parent_end: str | None = None
    #: How many children and graphs its end would cancel. Lists do not count them.
    bound: int = 0
    #: How many signals it has not received yet. Lists do not count them.
    unread: int = 0
    #: The names of the signals that its code waits for; none means any.
    listens: tuple[str, ...] = ()
    #: The limits that apply to it, by submission and by rules.
    budgets: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    #: If rate_limited: the budget or quota that holds it back, and when that expects room.
    blocked_by: str | None = None
    retry_at: datetime | None = None

    @property
    def state_vector(self) -> StateVector:
        """The dimensions of the state."""
        return state_vector(
            self.state, self.hold, self.attempt_kind, attempt_open=self.attempt_open
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An entry in the history of an execution."""

    at: datetime
    event: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try of an execution."""

    index: int
    kind: AttemptKind
    worker: str
    started_at: datetime
    ended_at: datetime | None = None
    #: completed, failed, timed_out, lease_expired, lease_revoked, cancelled, expired.
    outcome: str | None = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an execution ended."""

    id: ExecutionId
    state: State
    result: bytes | None
    content_type: str
    error: Mapping[str, Any] | None
    reason: str | None


def result_of(outcome: Outcome) -> bytes:
    """Return the result; raises ExecutionFailed if there is none."""
    if outcome.result is not None:
        return outcome.result
    error = outcome.error or {}
    why = error.get("message") or outcome.reason
    message = f"execution {outcome.id} ended as {outcome.state}"
    raise ExecutionFailed(
        f"{message}: {why}" if why else message,
        id=outcome.id,
        state=outcome.state,
        error=error,
    )

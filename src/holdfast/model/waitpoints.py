"""Values that describe waits: waitpoints, signals, and the answer to a suspension."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, Self

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.conditions import signal_name
from holdfast.model.moments import to_ms
from holdfast.model.states import State
from holdfast.model.tokens import Grant, Token
from holdfast.model.urls import check_url

_WAITPOINT_ID = re.compile(r"(.+)~w([1-9][0-9]{0,8})\Z")

ON_TIMEOUT = ("fail", "cancel", "expire", "resume", "escalate")
#: What a wait may be for; this becomes the blocking reason.
WAIT_REASONS = ("signal", "approval", "callback", "tool_result", "budget", "operator", "code")


def waitpoint_id(execution_id: str, number: int) -> str:
    """Return the id of a waitpoint; it contains the execution, and so the partition."""
    return f"{execution_id}~w{number}"


def parse_waitpoint_id(field_name: str, value: Any) -> tuple[str, int]:
    """Return the execution and the number of a waitpoint."""
    match = _WAITPOINT_ID.match(value) if isinstance(value, str) else None
    if match is None:
        checks.refuse(field_name, "is not the id of a waitpoint", value)
    return checks.execution_id(field_name, match[1]), int(match[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """The question of an execution for more of a budget, at a waitpoint that the engine created."""

    budget: str
    dimension: str
    #: The hard limit that it would have exceeded, and the amount that counted against it.
    limit: int
    current: int
    #: The charge that was refused, and the lease of its caller.
    key: str
    fence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWaitpoint:
    """A waitpoint to create."""

    name: str
    #: JSON Schema of the payloads it accepts.
    schema: Mapping[str, Any] | bool | None = None
    #: It closes this long after its creation.
    expires_ms: int | None = None
    #: How many signals its token allows.
    uses: int | None = None
    #: The names of the signals it accepts; a name that ends in `*` is a prefix; none means all.
    signals: tuple[str, ...] = ()
    #: The identities of the sources it accepts; none means all.
    answerers: tuple[str, ...] = ()
    #: Each answerer has a token, and only this token proves who answers.
    personal: bool = False
    #: The question for people.
    title: str = ""
    #: The URL of a webhook that is called with the tokens once it can be answered.
    on_open: str | None = field(default=None, repr=False)
    #: A key of the caller: preparing it again with the same key returns the same waitpoint.
    key: str | None = None
    #: Its answer raises the limit of a budget. Only the engine sets this.
    asks: Asks | None = None

    def __post_init__(self) -> None:
        checks.name("waitpoint.name", self.name)
        if self.expires_ms is not None:
            checks.integer("waitpoint.expires_ms", self.expires_ms, 1, bounds.DURATION_MS)
        if self.uses is not None:
            checks.integer("waitpoint.uses", self.uses, 1, 1_000_000)
        for name, most in (("signals", bounds.SIGNAL_NAMES), ("answerers", bounds.ANSWERERS)):
            value = getattr(self, name)
            if not isinstance(value, list | tuple) or len(value) > most:
                checks.refuse(f"waitpoint.{name}", f"must be a list of at most {most}", value)
            object.__setattr__(self, name, tuple(value))
        for signal in self.signals:
            signal_name("waitpoint.signals", signal)
        for identity in self.answerers:
            checks.text("waitpoint.answerers", identity, bounds.ID_CHARS, empty=False)
        self._check_personal()
        checks.text("waitpoint.title", self.title, bounds.TITLE_CHARS)
        if self.on_open is not None:
            check_url("waitpoint.on_open", self.on_open)
        if self.key is not None:
            checks.text("waitpoint.key", self.key, bounds.ID_CHARS, empty=False)

    def _check_personal(self) -> None:
        if not checks.flag("waitpoint.personal", self.personal):
            return
        if not self.answerers or len(set(self.answerers)) < len(self.answerers):
            checks.refuse(
                "waitpoint.answerers", "must name different people, one at least", self.answerers
            )
        if self.uses is not None:
            checks.refuse("waitpoint.uses", "cannot be combined with personal", self.uses)

    @classmethod
    def from_fields(cls, values: Any) -> Self:
        """Make one from a mapping; refuses unknown fields."""
        checks.mapping("waitpoint", values)
        names = (f.name for f in fields(cls) if f.name != "asks")
        checks.known_fields("waitpoint", values, names)
        if "name" not in values:
            checks.refuse("waitpoint.name", "is required", None)
        return cls(**values)


class WaitpointState(StrEnum):
    """Whether a waitpoint can be answered."""

    #: Prepared; signals are kept until the wait starts.
    PENDING = "pending"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waitpoint:
    """A named place where an execution waits."""

    id: str
    execution_id: str
    name: str
    state: WaitpointState
    created_at: datetime
    #: When it closes on its own.
    expires_at: datetime | None = None
    #: Until when it can be answered: when it closes, or the wait that it belongs to ends.
    until: datetime | None = None
    closed_at: datetime | None = None
    #: Why it is closed: resumed, expired, revoked, ended.
    why: str | None = None
    signals: tuple[str, ...] = ()
    answerers: tuple[str, ...] = ()
    #: Whether each answerer has a token of their own.
    personal: bool = False
    title: str = ""
    uses: int | None = None
    used: int = 0
    #: How many different sources must answer, if the wait counts them, and those that did.
    wanted: int | None = None
    came: tuple[str, ...] = ()
    schema: Any = None
    #: The key that signs its token now, and the fingerprint of the token.
    kid: str | None = None
    fingerprint: str | None = None
    #: Only for waitpoints that this call created or named.
    token: Token | None = None
    #: The tokens by person, instead of one that all share.
    tokens: Mapping[str, Token] = field(default_factory=dict)
    #: The webhook that announces it. Such an address may itself be a secret, so no reply has it.
    on_open: str | None = field(default=None, repr=False)
    #: The question for more of a budget, if it asks one.
    asks: Asks | None = None

    def grant(self, person: str = "") -> Grant:
        """Return the rights of its token, or of the token of a person."""
        return Grant(
            waitpoint=self.id,
            name=self.name,
            made_ms=to_ms(self.created_at),
            until_ms=None if self.expires_at is None else to_ms(self.expires_at),
            signals=self.signals,
            uses=self.uses,
            person=person,
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A reference of a wait to an existing waitpoint."""

    id: str
    #: Its name in the condition.
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxItem:
    """A waitpoint that can be answered, with its execution."""

    waitpoint: Waitpoint
    tenant: str
    kind: str
    lane: str
    #: Whether its timeout has passed and it waits for an operator.
    escalated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """A page of waitpoints, the oldest first."""

    items: tuple[InboxItem, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The sender of a signal: type and identity, or neither.

    Two signals are from different sources if type or identity differ.
    """

    type: str = ""
    identity: str = ""

    def __post_init__(self) -> None:
        checks.text("source.type", self.type, bounds.NAME_CHARS)
        checks.text("source.identity", self.identity, bounds.ID_CHARS)


class Effect(StrEnum):
    """The effect of a signal."""

    APPENDED = "appended"
    RESUMED = "resumed"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"
    BUFFERED = "buffered"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSignal:
    """A signal to send."""

    #: The id of the waitpoint.
    waitpoint: str
    name: str
    #: JSON.
    payload: bytes = b"null"
    source: Source = field(default_factory=Source)
    idempotency_key: str | None = None
    correlation: str = ""

    def __post_init__(self) -> None:
        parse_waitpoint_id("waitpoint", self.waitpoint)
        check_signal(self)


class _AnySignal(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def source(self) -> Source: ...
    @property
    def idempotency_key(self) -> str | None: ...
    @property
    def correlation(self) -> str: ...


def check_signal(signal: _AnySignal) -> None:
    """Check what every signal has, wherever it is sent."""
    checks.name("name", signal.name)
    decode_payload(checks.payload("payload", signal.payload, bounds.SIGNAL_BYTES))
    source = checks.instance("source", signal.source, Source)
    if bool(source.type) != bool(source.identity):
        checks.refuse("source", "must have a type and an identity, or neither", source)
    if signal.idempotency_key is not None:
        checks.text("idempotency_key", signal.idempotency_key, bounds.ID_CHARS, empty=False)
    checks.text("correlation", signal.correlation, bounds.ID_CHARS)


def decode_payload(payload: bytes) -> Any:
    """Decode JSON; raises InvalidInput if it is not JSON."""
    try:
        value = msgspec.json.decode(payload)
    except (ValueError, RecursionError, msgspec.MsgspecError) as error:
        checks.refuse("payload", f"must be JSON ({error})", payload)
    if not _is_flat(value):
        checks.refuse("payload", f"is nested deeper than {bounds.SIGNAL_DEPTH}", payload)
    return value


def _is_flat(value: Any) -> bool:
    """Whether the nesting of a value is shallow enough for schemas and expressions."""
    level = [value]
    for _ in range(bounds.SIGNAL_DEPTH + 1):
        if not level:
            return True
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal that arrived."""

    name: str
    payload: bytes
    source: Source
    at: datetime
    effect: Effect
    #: The id of its waitpoint; None for a signal of an operator or of a timeout.
    waitpoint: str | None = None
    idempotency_key: str | None = None
    correlation: str | None = None

    @property
    def value(self) -> Any:
        """The payload, decoded."""
        return msgspec.json.decode(self.payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """The answer to a suspension: the execution waits, or it can continue immediately."""

    state: State
    waitpoints: Sequence[Waitpoint]
    #: The signals that fulfilled the condition, if it held immediately.
    signals: tuple[Signal, ...] = ()

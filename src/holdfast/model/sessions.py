"""Sessions: a conversation with one user, its messages and its replies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.executions import ExecutionId
from holdfast.model.ids import new_id
from holdfast.model.session_keys import SessionKey
from holdfast.model.states import State


class Busy(StrEnum):
    """What becomes of a message that arrives while a turn runs."""

    #: The conversation receives it later, in order.
    QUEUE = "queue"
    #: The conversation receives everything that arrived as one message.
    MERGE = "merge"
    #: The running turn is cancelled, and the conversation starts again with this message.
    INTERRUPT = "interrupt"
    #: The sender gets `session_busy`.
    REJECT = "reject"


class SessionState(StrEnum):
    """What a session does now."""

    #: No conversation is under way; the next message starts one.
    IDLE = "idle"
    #: A turn runs, or is about to.
    RUNNING = "running"
    #: The conversation waits for a message.
    WAITING = "waiting"
    #: The conversation waits for something else: an approval, a time, a child.
    SUSPENDED = "suspended"
    #: A person answers; messages do not reach the conversation.
    PERSON = "person"


Direction = Literal["in", "out", "note"]
Delivery = Literal["pending", "sent", "dead"]
#: What a provider reported about a reply that it took.
ReceiptState = Literal["delivered", "read", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """A message, or another event, from a user."""

    key: SessionKey
    #: A JSON object; `text` is what the user wrote.
    payload: bytes
    #: The sender's id for it: repeated, it is delivered once.
    id: str = field(default_factory=new_id)
    kind: Literal["message", "event"] = "message"

    def __post_init__(self) -> None:
        checks.instance("key", self.key, SessionKey)
        checks.text("id", self.id, bounds.ID_CHARS, empty=False)
        checks.one_of("kind", self.kind, ("message", "event"))
        checks.json_object("payload", self.payload, bounds.MESSAGE_BYTES)


class Effect(StrEnum):
    """What became of a message."""

    #: It started an execution.
    STARTED = "started"
    #: It resumed the conversation that waited for it.
    RESUMED = "resumed"
    #: The conversation receives it later.
    BUFFERED = "buffered"
    #: It cancelled the turn that ran, and started an execution.
    INTERRUPTED = "interrupted"
    #: A person answers this session.
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A message for a conversation."""

    #: The name of the conversation.
    name: str
    activity: Activity
    #: Which senders deliver the replies; None: readers fetch them.
    sender: str | None
    #: Where an execution starts if the message starts one.
    revision: str | None

    def __post_init__(self) -> None:
        checks.kind("name", self.name)
        checks.instance("activity", self.activity, Activity)
        if self.sender is not None:
            checks.name("sender", self.sender)
        if self.revision is not None:
            checks.name("revision", self.revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The answer to a message: where it is, and what it did."""

    session: str
    #: The number of the message in the transcript.
    number: int
    #: The execution that receives it; None while a person answers.
    execution: ExecutionId | None
    effect: Effect
    #: The same activity id was delivered before.
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the transcript."""

    number: int
    at: datetime
    #: A message, a reply, or a note that only operators see, such as that a person answers.
    direction: Direction
    #: A JSON object: `text`, `card`, `buttons`, `data`, ...
    payload: bytes
    #: The execution that wrote or received it; None for one that a person wrote or received.
    execution: ExecutionId | None = None
    #: Of a reply: the number of the message that it answers.
    turn: int | None = None
    #: Of a message: the sender's id for it.
    activity: str | None = None
    #: Who wrote a reply that the conversation did not write.
    author: str | None = None
    #: Of a reply that a sender delivers.
    delivery: Delivery | None = None
    #: What the receiver's side reported of it since: `delivered`, `read` or `failed`.
    receipt: ReceiptState | None = None
    #: A reply that is being streamed: its text is not complete.
    open: bool = False

    @property
    def text(self) -> str:
        """The text of the payload, empty if it has none."""
        text = msgspec.json.decode(self.payload).get("text")
        return text if isinstance(text, str) else ""

    @property
    def value(self) -> dict[str, Any]:
        """The payload, decoded."""
        value: dict[str, Any] = msgspec.json.decode(self.payload)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is known of a session."""

    id: str
    key: SessionKey
    state: SessionState
    #: The name of the conversation function that answers.
    kind: str
    #: The execution that is under way.
    execution: ExecutionId | None
    #: The state of that execution.
    execution_state: State | None
    created_at: datetime
    #: When the last message or reply was written.
    active_at: datetime
    #: The number of the last line of the transcript.
    last: int
    #: Messages that the conversation has not received yet.
    buffered: int
    #: Since when the session is in this state, while it waits.
    since: datetime | None = None
    #: The last message that the conversation received.
    turn: int = 0
    #: Who answers, while a person does.
    person: str | None = None
    #: The reason of the handover, if one was given.
    handover_reason: str | None = None
    #: Executions that were started.
    executions: int = 0
    #: The revision that the last of them needed; None: it needed none.
    revision: str | None = None

    def after(self, entry: Entry) -> Session:
        """Return it as a line leaves it, as far as the line shows its state."""
        state = self.state
        if entry.direction == "in" and state in {SessionState.IDLE, SessionState.WAITING}:
            state = SessionState.RUNNING
        return replace(self, last=entry.number, active_at=entry.at, state=state)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A page of sessions, the most recently active first."""

    items: tuple[Session, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Lines of a transcript, in order, and the session they belong to."""

    session: Session
    entries: tuple[Entry, ...]
    #: More lines follow.
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What came of a message: the replies so far, and whether more may come."""

    session: str
    execution: ExecutionId | None
    #: The state of the execution; `responded` while a person answers. If the routing of a pack
    #: answered the message, `responded` or `denied`: no flow ran, and there is no execution.
    state: str
    replies: tuple[Entry, ...]
    #: False: the turn still runs, so more replies may follow.
    done: bool
    #: The revision of the last execution of the session; None: it needed none.
    revision: str | None = None
    #: The deployment that the message was for; None: it was for a conversation of workers.
    deployment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReply:
    """A reply that a conversation writes, once per step."""

    #: The name of the step that records it.
    step: str
    #: A JSON object.
    payload: bytes
    #: Reserves the number for a reply whose text is being streamed.
    open: bool = False
    #: Completes the reply that was opened under this number.
    number: int | None = None

    def __post_init__(self) -> None:
        checks.text("step", self.step, bounds.STEP_NAME_CHARS, empty=False)
        checks.json_object("payload", self.payload, bounds.MESSAGE_BYTES)
        checks.flag("open", self.open)
        if self.number is not None:
            checks.integer("number", self.number, 1, bounds.AMOUNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageWait:
    """The end of a turn: the conversation waits for the next message, or for a person."""

    #: The name of the step that records what came.
    step: str
    timeout_ms: int | None = None
    #: The worker keeps the parked coroutine: only what came is handed out when it claims again.
    kept: bool = False
    #: A person of this name answers until the session is given back.
    person: str | None = None
    #: Why that person does.
    reason: str = ""

    def __post_init__(self) -> None:
        checks.text("step", self.step, bounds.STEP_NAME_CHARS, empty=False)
        if self.timeout_ms is not None:
            checks.integer("timeout_ms", self.timeout_ms, 1, bounds.DURATION_MS)
        checks.flag("kept", self.kept)
        if self.person is not None:
            checks.text("person", self.person, bounds.NAME_CHARS, empty=False)
        checks.text("reason", self.reason, bounds.REASON_CHARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """The answer to a turn: the numbers of its replies, and what the wait found."""

    #: By position, those of `replies`.
    numbers: tuple[int, ...]
    #: The recorded result of the wait: see `messages_of`; None: it waits, and the lease is gone.
    received: bytes | None = None
    suspended: bool = False


def handover_note(person: str | None, reason: str) -> bytes:
    """Return the payload of the note that a person answers, or the conversation again (None)."""
    text = "the conversation answers" if person is None else f"{person} answers"
    return msgspec.json.encode(
        {"text": f"{text}: {reason}" if reason else text, "handover": person, "reason": reason}
    )


#: The kind of the message by which the store asks a conversation to leave its revision.
MOVE = "move"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message as a conversation receives it."""

    number: int
    #: When it arrived, in ms.
    at: int
    #: The sender's id for it.
    id: str
    kind: str = "message"
    payload: dict[str, Any]


def messages_of(received: bytes) -> list[Message]:
    """Decode what a wait for messages recorded: none after its timeout."""
    return msgspec.json.decode(received, type=list[Message])


@dataclass(frozen=True, slots=True, kw_only=True)
class StateValue:
    """A value of a session's state."""

    #: JSON; None: there is no value.
    value: bytes | None
    #: Goes up with every change; 0: there was never a value.
    version: int = 0
    #: Whether the call changed it: a comparison of versions may fail.
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueChange:
    """A value of a session's state that is set, or removed."""

    name: str
    #: JSON; None removes the value.
    value: bytes | None
    #: Only while the value has this version; otherwise nothing changes.
    expected: int | None = None
    #: How long the value is kept.
    ttl_ms: int | None = None

    def __post_init__(self) -> None:
        checks.text("name", self.name, bounds.NAME_CHARS, empty=False)
        if self.value is not None:
            checks.payload("value", self.value, bounds.MESSAGE_BYTES)
        if self.expected is not None:
            checks.integer("expected", self.expected, 0, bounds.AMOUNT)
        if self.ttl_ms is not None:
            checks.integer("ttl_ms", self.ttl_ms, 1, bounds.DURATION_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingReply:
    """A reply on its way to a receiver."""

    session: str
    key: SessionKey
    number: int
    payload: bytes
    at: datetime
    #: How often it was tried before.
    tries: int = 0
    #: How many of the messages that it consists of were sent before.
    parts: int = 0
    #: How often somebody had it sent again, after it was dead.
    resent: int = 0

    @property
    def idempotency_key(self) -> str:
        """The same for every try, for receivers that take one."""
        return f"{self.session}:{self.number}"

    @property
    def reference(self) -> str:
        """Another one each time it is sent again, for receivers that return it in receipts."""
        key = self.idempotency_key
        return f"{key}.{self.resent}" if self.resent else key

    @property
    def value(self) -> dict[str, Any]:
        """The payload, decoded."""
        value: dict[str, Any] = msgspec.json.decode(self.payload)
        return value


#: Delivers a reply to a receiver outside; what it raises makes the reply wait for its next try.
Send = Callable[[OutgoingReply], Awaitable[None]]

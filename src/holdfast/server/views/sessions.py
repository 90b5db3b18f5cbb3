"""Sessions, transcripts and turns as replies show them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Raw, UnsetType

from holdfast.model.session_keys import SessionKey, SessionRef
from holdfast.model.sessions import (
    Delivered,
    Entry,
    Session,
    StateValue,
    Transcript,
    TurnAnswer,
    Turned,
)
from holdfast.server.auth import shown
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import View
from holdfast.server.views.seen import NamedPayload, Payload, PayloadField


class DeliveredView(ModelView, model=Delivered, own=("execution",)):
    """The answer to a message: where it is, and what it did."""


class EntryView(ModelView, model=Entry, own=("execution",)):
    """A line of a transcript."""

    #: The text of the payload; empty if it has none.
    text: PayloadField
    payload: Payload

    @classmethod
    def of(cls, entry: Entry) -> EntryView:
        """Show a line; its payload stays as it was written."""
        return cls.copy(entry, text=entry.text, payload=Raw(entry.payload))


class ReplyView(EntryView):
    """A reply, as an activity to the user."""

    #: The same whenever it is read: the session and the number of the reply.
    id: str
    kind: str
    endpoint: str
    conversation: str
    user: str

    @classmethod
    def to(cls, key: SessionKey, entry: Entry) -> ReplyView:
        """Show a reply to the user of a session."""
        return cls.copy(
            entry,
            text=entry.text,
            payload=Raw(entry.payload),
            id=f"{key.id}:{entry.number}",
            kind="message",
            endpoint=key.endpoint,
            conversation=key.conversation,
            user=key.user,
        )


class AnswerView(View):
    """What came of a message."""

    #: So far; more may follow if the status is 202.
    replies: list[ReplyView]
    #: The execution that receives the message; null while a person answers, and if no flow ran.
    execution: str | None
    #: The state of the execution; `responded` while a person answers. If the routing of a pack
    #: answered the message, `responded` or `denied`.
    state: str
    session: str
    #: Of the deployment that answered; null for a conversation of workers.
    revision: str | None = None
    #: Null for a conversation of workers.
    deployment: str | None = None

    @classmethod
    def of(cls, key: SessionKey, answer: TurnAnswer) -> AnswerView:
        """Show an answer."""
        return cls(
            replies=[ReplyView.to(key, entry) for entry in answer.replies],
            execution=shown.own_or_none(answer.execution),
            state=answer.state,
            session=answer.session,
            revision=answer.revision,
            deployment=answer.deployment,
        )


class SessionView(ModelView, model=Session, hide=("key",), own=("execution",)):
    """What is known of a session."""

    id: str
    tenant: str
    env: str
    endpoint: str
    conversation: str
    user: str

    @classmethod
    def of(cls, session: Session) -> SessionView:
        """Show a session."""
        return cls.copy(session, **_key(session.key))


class SessionPageView(View):
    """Sessions, the most recently active first."""

    items: list[SessionView]
    next_cursor: str | None


class SessionDetail(SessionView):
    """A session, and the last lines of its transcript."""

    #: The parked node of a flow; null for a conversation of workers.
    node: str | None
    transcript: list[EntryView]

    @classmethod
    def with_lines(cls, found: Transcript) -> SessionDetail:
        """Show a session with lines of its transcript."""
        session = found.session
        lines = [EntryView.of(entry) for entry in found.entries]
        return cls.copy(session, **_key(session.key), node=None, transcript=lines)


class TranscriptView(View):
    """Lines of a transcript, in order."""

    items: list[EntryView]
    next_cursor: str | None


class TurnedView(View):
    """The numbers of the replies, by position, and what the wait found."""

    numbers: tuple[int, ...]
    #: Whether it waits now; then the lease is gone.
    suspended: bool
    #: The messages that the wait found: none after its timeout. Absent while it waits.
    received: Any = UNSET

    @classmethod
    def of(cls, turned: Turned) -> TurnedView:
        """Show a turn; what came stays as it was written."""
        received = UNSET if turned.received is None else Raw(turned.received)
        return cls(numbers=turned.numbers, suspended=turned.suspended, received=received)


class StateValueView(View):
    """A value of a session's state; `value` is absent if there is none."""

    version: int
    #: Whether the call changed it.
    changed: bool
    value: Any = UNSET

    @classmethod
    def of(cls, found: StateValue) -> StateValueView:
        """Show a value as it was written."""
        value = UNSET if found.value is None else Raw(found.value)
        return cls(version=found.version, changed=found.changed, value=value)


class NamedValueView(View):
    """A value of a session's state."""

    name: str
    version: int
    value: NamedPayload

    @classmethod
    def of(cls, name: str, found: StateValue) -> NamedValueView:
        """Show a value as it was written."""
        return cls(name=name, version=found.version, value=Raw(found.value or b"null"))


class StatePage(View):
    """The state of a session, by name."""

    items: list[NamedValueView]
    next_cursor: str | None = None


class SessionRefView(View):
    """The session of an execution that a worker claimed."""

    id: str
    tenant: str
    env: str
    endpoint: str
    conversation: str
    user: str
    #: The last message that the conversation received.
    turn: int

    @classmethod
    def of(cls, session: SessionRef | None) -> SessionRefView | UnsetType:
        """Show it; absent for an execution without a session."""
        if session is None:
            return UNSET
        return cls(id=session.id, turn=session.turn, **_key(session.key))


def _key(key: SessionKey) -> dict[str, str]:
    return {
        "tenant": key.tenant,
        "env": key.env,
        "endpoint": key.endpoint,
        "conversation": key.conversation,
        "user": key.user,
    }

"""From replies about sessions to the values that the engine returns; payloads stay as written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.client.decode import moment, session_key
from holdfast.model.executions import ExecutionId
from holdfast.model.sessions import (
    Delivered,
    Delivery,
    Direction,
    Entry,
    ReceiptState,
    Session,
    StateValue,
    Transcript,
    TurnAnswer,
    Turned,
)


def session(view: Mapping[str, Any]) -> Session:
    """Read a session."""
    return msgspec.convert({**view, "key": session_key(view)}, Session)


def delivered(view: Mapping[str, Any]) -> Delivered:
    """Read what became of a message."""
    return msgspec.convert(view, Delivered)


class _EntryReply(msgspec.Struct):
    number: int
    at: str
    direction: Direction
    payload: msgspec.Raw
    execution: str | None
    turn: int | None
    activity: str | None
    author: str | None
    delivery: Delivery | None
    open: bool
    #: Servers of an earlier version have none.
    receipt: ReceiptState | None = None

    def entry(self) -> Entry:
        return Entry(
            number=self.number,
            at=moment(self.at),
            direction=self.direction,
            payload=bytes(self.payload),
            execution=None if self.execution is None else ExecutionId(self.execution),
            turn=self.turn,
            activity=self.activity,
            author=self.author,
            delivery=self.delivery,
            receipt=self.receipt,
            open=self.open,
        )


class _LinesReply(msgspec.Struct):
    items: list[_EntryReply]
    next_cursor: str | None


class _DetailReply(msgspec.Struct):
    transcript: list[_EntryReply]


class _AnswerReply(msgspec.Struct):
    replies: list[_EntryReply]
    execution: str | None
    state: str
    session: str
    revision: str | None = None
    deployment: str | None = None


class _TurnedReply(msgspec.Struct):
    numbers: tuple[int, ...]
    suspended: bool
    received: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _ValueReply(msgspec.Struct):
    version: int
    changed: bool = False
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    name: str = ""

    def state(self) -> StateValue:
        value = None if self.value is msgspec.UNSET else bytes(self.value)
        return StateValue(value=value, version=self.version, changed=self.changed)


class _ValuesReply(msgspec.Struct):
    items: list[_ValueReply]


_entry = msgspec.json.Decoder(_EntryReply).decode
_lines = msgspec.json.Decoder(_LinesReply).decode
_detail = msgspec.json.Decoder(_DetailReply).decode
_answer = msgspec.json.Decoder(_AnswerReply).decode
_turned = msgspec.json.Decoder(_TurnedReply).decode
_value = msgspec.json.Decoder(_ValueReply).decode
_values = msgspec.json.Decoder(_ValuesReply).decode


def entry(data: bytes) -> Entry:
    """Read a line of a transcript."""
    return _entry(data).entry()


def lines(data: bytes) -> tuple[tuple[Entry, ...], bool]:
    """Read lines of a transcript, and whether more follow."""
    page = _lines(data)
    return tuple(one.entry() for one in page.items), page.next_cursor is not None


def detail(data: bytes) -> Transcript:
    """Read a session with the last lines of its transcript."""
    entries = tuple(one.entry() for one in _detail(data).transcript)
    return Transcript(session=session(msgspec.json.decode(data)), entries=entries)


def answer(data: bytes, *, done: bool) -> TurnAnswer:
    """Read what came of a message."""
    reply = _answer(data)
    return TurnAnswer(
        session=reply.session,
        execution=None if reply.execution is None else ExecutionId(reply.execution),
        state=reply.state,
        replies=tuple(one.entry() for one in reply.replies),
        done=done,
        revision=reply.revision,
        deployment=reply.deployment,
    )


def turned(data: bytes) -> Turned:
    """Read what came of a turn."""
    reply = _turned(data)
    received = bytes(reply.received) or None
    return Turned(numbers=reply.numbers, received=received, suspended=reply.suspended)


def value(data: bytes) -> StateValue:
    """Read a value of a session's state."""
    return _value(data).state()


def values(data: bytes) -> list[tuple[str, StateValue]]:
    """Read the state of a session."""
    return [(one.name, one.state()) for one in _values(data).items]

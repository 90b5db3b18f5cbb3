"""Rules of sessions (DESIGN, section 5, 9): transcripts, executions, lists of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from holdfast.model.states import TERMINAL
from holdfast.store.verify.drifts import Drift, Entry, in_record
from holdfast.store.verify.view import Record, View

#: What a session owns besides its record.
OWNED = ("T", "A", "B", "V", "D", "L")
#: What an execution that waits for a message is held by, and one that waits for a person.
HOLDS = (b"message", b"person")
MOST_ENTRIES, MOST_BUFFERED = 1000, 100

_unpack = msgspec.msgpack.Decoder().decode


class _Session:
    """The keys of one session."""

    def __init__(self, view: View, session_id: str, fields: Record) -> None:
        self.id = session_id
        self.record = {name: value.decode() for name, value in fields.items()}
        self.base, self.last = int(self.record.get("base", 0)), int(self.record.get("last", 0))
        self.entries: dict[int, dict[str, Any]] = {
            number: _unpack(entry)
            for number, entry in enumerate(view.value(f"T:{session_id}") or [], self.base + 1)
        }
        self.activities: dict[bytes, bytes] = view.value(f"A:{session_id}") or {}
        self.buffered = [int(number) for number in view.value(f"B:{session_id}") or []]
        self.dead = {int(number) for number in view.value(f"D:{session_id}") or {}}
        self.current = int(self.record.get("cur", 0))
        self.execution = view.execution(f"{session_id}~{self.current}") if self.current else None

    def problems(self) -> Iterator[str]:
        """Say what is wrong."""
        yield from self._check_transcript()
        yield from self._check_executions()
        yield from self._check_buffered()
        yield from self._check_outgoing()

    def _numbers(self, field: str) -> list[int]:
        return [int(number) for number in self.record.get(field, "").split()]

    def _check_transcript(self) -> Iterator[str]:
        if not self.entries or list(self.entries)[-1] != self.last:
            yield f"has the entries {list(self.entries)[-1:]}, its record says {self.last}"
        if len(self.entries) > MOST_ENTRIES + MOST_BUFFERED:
            yield f"has {len(self.entries)} entries"
        known = {
            entry["a"].encode(): str(number).encode()
            for number, entry in self.entries.items()
            if "a" in entry
        }
        if self.activities != known:
            yield f"knows the ids {self.activities}, should be {known}"
        half = [number for number, entry in self.entries.items() if "open" in entry]
        streamed = [number for number in self._numbers("streamed") if number > self.base]
        if half != sorted(streamed):
            yield f"streams the replies {streamed}, but these are not complete: {half}"
        for number, entry in self.entries.items():
            if "open" in entry and entry.get("x") != self.current:
                yield f"has the open reply {number} of an execution that has ended"
            if entry["d"] == "o" and entry.get("t", 0) >= number:
                yield f"has the reply {number} to a later message"

    def _check_executions(self) -> Iterator[str]:
        alive = self.execution
        if self.current and (alive is None or alive["state"].decode() in TERMINAL):
            yield f"has no execution under way, its record says {self.current}"
        held = alive.get("hold") if alive else None
        if held == b"person" and "person" not in self.record:
            yield "waits for a person, but nobody answers"
        if held == b"message" and self.buffered:
            yield f"waits for a message, but has {self.buffered}"
        if not self.current and self.buffered:
            yield f"has nobody who will receive {self.buffered}"

    def _check_buffered(self) -> Iterator[str]:
        if self.buffered != sorted(set(self.buffered)) or len(self.buffered) > MOST_BUFFERED:
            yield f"buffers {self.buffered}"
        for number in self.buffered:
            entry = self.entries.get(number)
            if entry is None or (entry["d"], entry.get("e")) != ("i", "b"):
                yield f"buffers {number}, which is {entry}"
            if number <= int(self.record.get("turn", 0)):
                yield f"buffers {number}, which was received"

    def _check_outgoing(self) -> Iterator[str]:
        again = self._numbers("again")
        for number in (*again, *self.dead):
            if number not in self.entries or self.entries[number]["d"] != "o":
                yield f"has no reply {number}, which is dead or is sent again"
        if self.dead & set(again):
            yield f"has replies {self.dead & set(again)} that are dead and are sent again"

    def has_replies(self) -> bool:
        """Return whether a sender has something to deliver."""
        return bool(self._numbers("again")) or self._next_reply() is not None

    def _next_reply(self) -> int | None:
        sent = int(self.record.get("sent", 0))
        for number, entry in self.entries.items():
            if number <= sent:
                continue
            if "open" in entry:
                return None
            if entry["d"] == "o" and "cut" not in entry:
                return number
        return None


def drifts(view: View, session_id: str) -> Iterator[Drift]:
    """Return what is wrong with a session itself."""
    session = _read(view, session_id)
    if session is not None:
        yield from in_record(f"session {session_id}:", session.problems())


def entries(view: View, session_id: str) -> Iterator[Entry]:
    """Return the places of a session in lists and timers."""
    session = _read(view, session_id)
    if session is None:
        return
    member, record = session_id.encode(), session.record
    tenant, user = record["tenant"], record["user"]
    at = float(session.entries[session.last]["at"]) if session.last in session.entries else None
    yield Entry(f"sessions:{tenant}", member, at, default=0.0)
    named = view.member(f"users:{tenant}", user.encode())
    if named is None or named == member:
        yield Entry(f"users:{tenant}", user.encode(), member)
    else:
        # The user has several sessions, or has had.
        yield Entry(f"users:{tenant}", user.encode(), b"")
        yield Entry(f"usessions:{tenant}|{user}", member, at, default=0.0)
    # One that runs may still have the timer of its rest.
    yield Entry("timers", b"c:" + member, optional=bool(session.current), default=0.0)
    for number in session.dead:
        yield Entry(f"dead:{tenant}", b"%b:%d" % (member, number), default=0.0)
    if "sender" in record:
        idle = not session.has_replies()
        yield Entry(f"outgoing:{record['sender']}", member, optional=idle, default=0.0)


def wait_problems(view: View, execution_id: str, record: Record) -> Iterator[str]:
    """Return what is wrong with an execution of a session, or one that waits for a message."""
    waits = record["state"] == b"suspended" and record.get("hold") in HOLDS
    if waits != ("since" in record):
        yield "waits for a message or not: its record says both"
    if waits and record["awaits"] in (view.value(f"s:{execution_id}") or {}):
        yield f"waits for what came: {record['awaits']!r}"
    ended = record["state"].decode() in TERMINAL
    if ended and {"awaits", "kept", "tail"} & record.keys():
        yield "has ended, but waits for a message"
    if "session" in record and not ended:
        session_id, _, number = execution_id.rpartition("~")
        if view.member(f"S:{session_id}", b"cur") != number.encode():
            yield "is under way, but is not the one of its session"


def _read(view: View, session_id: str) -> _Session | None:
    view.prefetch(("v", f"{family}:{session_id}", b"") for family in "STABD")
    fields = view.record(f"S:{session_id}")
    return None if fields is None else _Session(view, session_id, fields)

"""What must always hold for stored sessions (DESIGN, section 5, 9), checked from outside.

Like `invariants`, it shares no code with the library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from holdfast.model.states import TERMINAL

Record = Mapping[str, bytes]
Families = Mapping[str, Mapping[str, Any]]

#: What a session owns besides its record.
OWNED = ("T", "A", "B", "V", "D", "L")
SESSION_FAMILIES = (
    *("S", "E", *OWNED),
    *("sessions", "users", "usessions", "stenants", "outgoing", "dead", "W"),
)
#: What an execution that waits for a message is held by, and one that waits for a person.
HOLDS = (b"message", b"person")
MOST_ENTRIES, MOST_BUFFERED = 1000, 100

_unpack = msgspec.msgpack.Decoder().decode


class _Session:
    """The keys of one session."""

    def __init__(self, families: Families, session_id: str, records: Mapping[str, Record]) -> None:
        self._families = families
        self.id = session_id
        fields = families["S"][session_id]
        self.record = {name.decode(): value.decode() for name, value in fields.items()}
        self.base, self.last = int(self.record.get("base", 0)), int(self.record.get("last", 0))
        packed = families["T"].get(session_id, [])
        self.entries: dict[int, dict[str, Any]] = {
            number: _unpack(entry) for number, entry in enumerate(packed, self.base + 1)
        }
        self.buffered = [int(number) for number in families["B"].get(session_id, [])]
        self.executions = {
            number: records[f"{session_id}~{number}"]
            for number in range(1, int(self.record.get("n", 0)) + 1)
            if f"{session_id}~{number}" in records
        }

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
        if dict(self._families["A"].get(self.id, {})) != known:
            yield f"knows the ids {self._families['A'].get(self.id)}, should be {known}"
        listed = self._families["sessions"].get(self.record["tenant"], {}).get(self.id.encode())
        if self.entries and listed != float(self.entries[self.last]["at"]):
            yield f"is listed at {listed}"
        half = [number for number, entry in self.entries.items() if "open" in entry]
        streamed = [number for number in self._numbers("streamed") if number > self.base]
        if half != sorted(streamed):
            yield f"streams the replies {streamed}, but these are not complete: {half}"
        current = int(self.record.get("cur", 0))
        for number, entry in self.entries.items():
            if "open" in entry and entry.get("x") != current:
                yield f"has the open reply {number} of an execution that has ended"
            if entry["d"] == "o" and entry.get("t", 0) >= number:
                yield f"has the reply {number} to a later message"

    def _check_executions(self) -> Iterator[str]:
        current = int(self.record.get("cur", 0))
        alive = [n for n, one in self.executions.items() if one["state"].decode() not in TERMINAL]
        if alive != ([current] if current else []):
            yield f"has the executions {alive} under way, its record says {current}"
        for number in alive:
            held = self.executions[number].get("hold")
            if held == b"person" and "person" not in self.record:
                yield "waits for a person, but nobody answers"
            if held == b"message" and self.buffered:
                yield f"waits for a message, but has {self.buffered}"
        if not current and self.buffered:
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
        sender = self.record.get("sender")
        again, dead = self._numbers("again"), {int(n) for n in self._dead()}
        for number in (*again, *dead):
            if number not in self.entries or self.entries[number]["d"] != "o":
                yield f"has no reply {number}, which is dead or is sent again"
        if dead & set(again):
            yield f"has replies {dead & set(again)} that are dead and are sent again"
        places = {
            name for name, ids in self._families["outgoing"].items() if self.id.encode() in ids
        }
        if not places <= {sender}:
            yield f"is listed for the senders {places}, has {sender}"
        if sender and not places and (again or self._next_reply() is not None):
            yield "has replies that nobody sends"

    def _dead(self) -> Any:
        return self._families["D"].get(self.id, {})

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


def session_problems(families: Families, records: Mapping[str, Record]) -> Iterator[str]:
    """Check the sessions of a partition, their lists, and who owns what."""
    for session_id in families["S"]:
        for problem in _Session(families, session_id, records).problems():
            yield f"session {session_id}: {problem}"
    yield from _check_lists(families)
    for execution_id, record in records.items():
        for problem in _check_wait(families, execution_id, record):
            yield f"execution {execution_id}: {problem}"
    for family in OWNED:
        for session_id in families[family].keys() - families["S"].keys():
            yield f"key {family}:{session_id} belongs to no session"


def _check_lists(families: Families) -> Iterator[str]:
    by_tenant: dict[str, set[bytes]] = defaultdict(set)
    by_user: dict[str, dict[bytes, float]] = defaultdict(dict)
    for session_id, fields in families["S"].items():
        name, tenant, user = (
            session_id.encode(),
            fields[b"tenant"].decode(),
            fields[b"user"].decode(),
        )
        by_tenant[tenant].add(name)
        by_user[f"{tenant}|{user}"][name] = families["sessions"][tenant][name]
    yield from _check_users(families, by_user)
    listed = {tenant: set(ids) for tenant, ids in families["sessions"].items()}
    if listed != dict(by_tenant):
        yield f"the lists of sessions are {listed}, should be {dict(by_tenant)}"
    tenants = set(families["stenants"].get("", ()))
    if tenants != {tenant.encode() for tenant in by_tenant}:
        yield f"the tenants with sessions are {tenants}, should be {sorted(by_tenant)}"
    dead: dict[str, set[bytes]] = defaultdict(set)
    for session_id, numbers in families["D"].items():
        tenant = (
            families["S"][session_id][b"tenant"].decode() if session_id in families["S"] else ""
        )
        dead[tenant] |= {b"%b:%b" % (session_id.encode(), number) for number in numbers}
    if {tenant: set(members) for tenant, members in families["dead"].items()} != dict(dead):
        yield f"the lists of dead replies are {families['dead']}, should be {dict(dead)}"
    known = {session_id.encode() for session_id in families["S"]}
    for sender, ids in families["outgoing"].items():
        if not set(ids) <= known:
            yield f"sender {sender} has the sessions {set(ids) - known}, which are gone"


def _check_users(
    families: Families, sessions: Mapping[str, Mapping[bytes, float]]
) -> Iterator[str]:
    """Check that each user's only session is named, or that all of them are listed."""
    named = {
        f"{tenant}|{user.decode()}": session_id
        for tenant, users in families["users"].items()
        for user, session_id in users.items()
    }
    if named.keys() != sessions.keys():
        yield f"the users with sessions are {set(named)}, should be {set(sessions)}"
    many = {user for user, session_id in named.items() if not session_id}
    if families["usessions"].keys() != many:
        yield f"users have lists: {set(families['usessions'])}, should be {many}"
    for user, session_id in named.items():
        listed = families["usessions"].get(user)
        known = set(sessions.get(user, ()))
        if (listed is None and known != {session_id}) or (listed and listed != sessions.get(user)):
            yield f"user {user} has the sessions {listed or session_id}, should be {known}"


def _check_wait(families: Families, execution_id: str, record: Record) -> Iterator[str]:
    waits = record["state"] == b"suspended" and record.get("hold") in HOLDS
    if waits != ("since" in record):
        yield "waits for a message or not: its record says both"
    if waits and record["awaits"] in families["s"].get(execution_id, {}):
        yield f"waits for what came: {record['awaits']!r}"
    ended = record["state"].decode() in TERMINAL
    if ended and {"awaits", "kept", "tail"} & record.keys():
        yield "has ended, but waits for a message"
    if "session" in record and not ended:
        session_id, _, number = execution_id.rpartition("~")
        session = families["S"].get(session_id, {})
        if session.get(b"cur") != number.encode():
            yield "is under way, but is not the one of its session"


def check_session_timers(families: Families, found: AbstractSet[bytes]) -> Iterator[str]:
    """Check the timers of sessions: one that rests has one, others may still have theirs."""
    names = {f"c:{session_id}".encode(): fields for session_id, fields in families["S"].items()}
    resting = {name for name, fields in names.items() if b"cur" not in fields}
    if not resting <= found <= names.keys():
        yield f"the timers of sessions are {found}, of those that rest {resting}"

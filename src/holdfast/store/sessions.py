"""Sessions: messages in, turns, replies out, each one call of one function."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.errors import SessionNotFound
from holdfast.model.executions import ExecutionId, Lease, NewExecution
from holdfast.model.moments import from_ms
from holdfast.model.records import pairs
from holdfast.model.session_keys import SessionKey, session_of
from holdfast.model.sessions import (
    Activity,
    Busy,
    Delivered,
    Direction,
    Effect,
    Entry,
    MessageWait,
    NewReply,
    OutgoingReply,
    Session,
    SessionState,
    StateValue,
    Transcript,
    Turned,
    handover_note,
)
from holdfast.model.states import Hold, State
from holdfast.store.domain import Domain
from holdfast.store.items import item_fields
from holdfast.store.repeats import call_id

_DIRECTIONS: Mapping[str, Direction] = {"i": "in", "o": "out", "n": "note"}
_pack, _unpack = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Replies of one session, handed to the one process that sends them now."""

    session: str
    fence: str
    sender: str
    replies: tuple[OutgoingReply, ...]


class Sessions(Domain):
    """Sessions, each in the partition of its id."""

    async def deliver(
        self,
        activity: Activity,
        item: NewExecution,
        *,
        busy: Busy,
        apology: str | None,
        sender: str | None,
        process: str = "",
    ) -> Delivered:
        """Deliver a message: resume, buffer or start; a process is notified of what follows."""
        key = activity.key
        limits = await self._store.attach(item) if item.budgets or item.quotas else ""
        fields = item_fields(item, key.id, limits) | {
            "env": key.env,
            "endpoint": key.endpoint,
            "conversation": key.conversation,
            "user": key.user,
        }
        if busy is not Busy.QUEUE:
            fields["busy"] = busy.value
        if apology is not None:
            fields["apology"] = apology
        if sender is not None:
            fields["sender"] = sender
        effect, number, execution, duplicate = await self._call.write(
            "hf_session_deliver",
            self._store.tag_of(key.id),
            key.id,
            activity.id,
            "" if activity.kind == "message" else activity.kind,
            self._sealing.seal_token(activity.payload, "message", key.id),
            _pack(fields),
            process,
        )
        return Delivered(
            session=key.id,
            number=int(number),
            execution=ExecutionId(execution.decode()) if execution else None,
            effect=Effect(effect.decode()),
            duplicate=int(duplicate) == 1,
        )

    async def turn(
        self,
        execution_id: str,
        lease: Lease,
        replies: Sequence[NewReply],
        wait: MessageWait | None,
    ) -> Turned:
        """Write replies, then perhaps wait for a message."""
        timeout = "" if wait is None or wait.timeout_ms is None else str(wait.timeout_ms)
        session_id = session_of(execution_id) or ""
        state, received, *numbers = await self._call.write(
            "hf_session_turn",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            _pack([self._reply(session_id, reply) for reply in replies]),
            "" if wait is None else wait.step,
            timeout,
            "1" if wait is not None and wait.kept else "",
            *_handover(wait),
        )
        return Turned(
            numbers=tuple(int(number) for number in numbers),
            received=self._sealing.open(received, message=session_id) or None,
            suspended=state == b"suspended",
        )

    async def move(
        self, execution_id: str, lease: Lease, revision: str, requires: Sequence[str], state: bytes
    ) -> None:
        """Let a conversation continue on another revision, with a state and an empty journal."""
        await self._call.write(
            "hf_session_move",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            revision,
            ",".join(requires),
            self._sealing.seal(state, "continued", execution_id),
        )

    def _reply(self, session_id: str, reply: NewReply) -> dict[str, object]:
        payload = self._sealing.seal_token(reply.payload, "reply", session_id)
        fields: dict[str, object] = {"step": reply.step, "payload": payload.decode()}
        if reply.open:
            fields["open"] = True
        if reply.number is not None:
            fields["number"] = reply.number
        return fields

    async def state(
        self,
        execution_id: str,
        lease: Lease,
        step: str,
        name: str,
        *,
        op: str,
        value: bytes = b"",
        expected: int | None = None,
        ttl_ms: int | None = None,
    ) -> StateValue:
        """Read or change a value of a session's state, recorded under a step."""
        session_id = session_of(execution_id) or ""
        (result,) = await self._call.write(
            "hf_session_state",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            step,
            op,
            name,
            value and self._sealing.seal_token(value, "state", session_id),
            "" if expected is None else str(expected),
            "" if ttl_ms is None else str(ttl_ms),
        )
        version, changed, rest = result.split(b" ", 2)
        opened = self._sealing.open(rest, state=session_id)
        return StateValue(value=opened or None, version=int(version), changed=changed == b"1")

    async def values(self, session_id: str) -> list[tuple[str, StateValue]]:
        """Return the whole state of a session."""
        rows = await self._call.read(
            "hf_session_values", self._store.tag_of(session_id), session_id
        )
        opened = (
            (name.decode(), int(version), self._sealing.open(value, state=session_id))
            for name, version, value in rows
        )
        return sorted(
            (name, StateValue(value=value, version=version)) for name, version, value in opened
        )

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 0, process: str = ""
    ) -> Transcript:
        """Return a session and its transcript after a number; a process is notified of changes.

        After -5 follow the last five lines.
        """
        tag = self._store.tag_of(session_id)
        place = (session_id, str(after), str(limit))
        if process:
            reply = await self._call.write("hf_session_listen", tag, *place, process)
        else:
            reply = await self._call.read("hf_session_read", tag, *place)
        row, rows, more, dead = reply
        record = pairs(row[1])
        dead_numbers = {int(number) for number in dead}
        return Transcript(
            session=_session(row),
            entries=tuple(
                self._entry(session_id, int(number), packed, record, dead_numbers)
                for number, packed in rows
            ),
            more=int(more) == 1,
        )

    async def page(
        self,
        *,
        tenant: str | None,
        user: str | None,
        before: tuple[int, str] | None,
        limit: int,
    ) -> list[Session]:
        """Return the sessions after a place in the list, the most recently active first."""
        at, last = ("", "") if before is None else (str(before[0]), before[1])
        answers = await asyncio.gather(
            *(
                self._call.read(
                    "hf_session_list", tag, tenant or "", user or "", at, last, str(limit)
                )
                for tag in self._store.tags()
            )
        )
        sessions = [_session(row) for rows in answers for row in rows]
        sessions.sort(key=lambda session: (session.active_at, session.id), reverse=True)
        return sessions[:limit]

    async def say(self, session_id: str, key: str, author: str, payload: bytes) -> Entry:
        """Write a reply as a person, once per key."""
        tag = self._store.tag_of(session_id)
        number, packed = await self._call.write(
            "hf_session_say",
            tag,
            session_id,
            key,
            author,
            self._sealing.seal_token(payload, "reply", session_id),
        )
        return self._entry(session_id, int(number), packed, {}, set())

    async def handover(self, session_id: str, to: str | None, reason: str = "") -> Session:
        """Let a person answer, or give the session back (None)."""
        tag = self._store.tag_of(session_id)
        note = handover_note(to, reason)
        place = (session_id, to or "", reason)
        request = call_id("hf_session_handover", tag, *place)
        (row,) = await self._call.write("hf_session_handover", tag, *place, note, request)
        return _session(row)

    async def finish(self, session_id: str, reason: str) -> Session:
        """Cancel what runs or waits, and drop what was buffered."""
        tag = self._store.tag_of(session_id)
        (row,) = await self._once("hf_session_finish", tag, session_id, reason)
        return _session(row)

    async def welcome(self, visitor: str, session_id: str, *, done: bool) -> bool:
        """Return whether a session is the one that welcomes a user."""
        tag = self._store.tag_of(visitor)
        mark = "1" if done else ""
        (first,) = await self._call.write("hf_session_welcome", tag, visitor, session_id, mark)
        return int(first) == 1

    async def erase(self, session_id: str) -> None:
        """Remove a session, its transcript and its executions."""
        tag = self._store.tag_of(session_id)
        more, started = True, False
        while more:
            try:
                (left,) = await self._call.write("hf_session_erase", tag, session_id)
            except SessionNotFound:
                # An earlier try of the same call may have removed it.
                if not started:
                    raise
                return
            more, started = int(left) == 1, True

    async def resend(self, session_id: str, number: int) -> None:
        """Send a dead reply again."""
        tag = self._store.tag_of(session_id)
        await self._call.write("hf_session_resend", tag, session_id, str(number))

    async def outgoing(
        self, tag: str, fence: str, senders: Sequence[str], *, lease_ms: int, limit: int
    ) -> tuple[list[Outgoing], int | None]:
        """Take sessions with replies to send; also how long until the next may be taken, in ms."""
        sleep, *rows = await self._call.write(
            "hf_session_outgoing", tag, fence, str(lease_ms), str(limit), *senders
        )
        handed = []
        for session_id, fields, tries, entries in rows:
            record = pairs(fields)
            handed.append(
                Outgoing(
                    session=session_id.decode(),
                    fence=fence,
                    sender=record[b"sender"].decode(),
                    replies=tuple(
                        self._outgoing(session_id.decode(), record, int(number), packed, tried)
                        for (number, packed), tried in zip(
                            entries, [int(tries)] + [0] * len(entries), strict=False
                        )
                    ),
                )
            )
        return handed, int(sleep) if sleep != b"" else None

    async def settle(
        self,
        session_id: str,
        fence: str,
        number: int,
        outcome: str,
        *,
        lease_ms: int,
        delay_ms: int | None = None,
        error: str = "",
    ) -> None:
        """Record what became of the next reply: sent, retry, later, part or dead."""
        await self._call.write(
            "hf_session_settle",
            self._store.tag_of(session_id),
            session_id,
            fence,
            str(number),
            outcome,
            "" if delay_ms is None else str(delay_ms),
            error,
            str(lease_ms),
        )

    async def receipt(
        self,
        session_id: str,
        number: int,
        state: str,
        problem: str,
        reporter: tuple[str, str, str],
        *,
        resent: int,
    ) -> bool:
        """Note what env, tenant and endpoint report of a reply; returns whether that was new.

        `resent` is how often it had been sent again when the message was sent that they mean.
        """
        (word,) = await self._call.write(
            "hf_session_receipt",
            self._store.tag_of(session_id),
            session_id,
            str(number),
            state,
            problem,
            *reporter,
            str(resent),
        )
        return bool(word == b"noted")

    def _entry(
        self,
        session_id: str,
        number: int,
        packed: bytes,
        record: Mapping[bytes, bytes],
        dead: set[int],
    ) -> Entry:
        values: Mapping[str, Any] = _unpack(packed)
        get = values.get
        direction = _DIRECTIONS[values["d"]]
        delivery = None
        if direction == "out" and b"sender" in record:
            again = record.get(b"again", b"").split()
            settled = number <= int(record.get(b"sent", 0)) and str(number).encode() not in again
            delivery = "dead" if number in dead else "sent" if settled else "pending"
        started = get("x")
        return Entry(
            number=number,
            at=from_ms(int(values["at"])),
            direction=direction,
            payload=self._said(session_id, values),
            execution=None if started is None else ExecutionId(f"{session_id}~{started}"),
            turn=get("t"),
            activity=get("a") if direction == "in" else None,
            author=get("w"),
            delivery=delivery,  # type: ignore[arg-type]
            receipt=get("rc"),
            open=bool(get("open")),
        )

    def _outgoing(
        self,
        session_id: str,
        record: Mapping[bytes, bytes],
        number: int,
        packed: bytes,
        tries: int,
    ) -> OutgoingReply:
        values: Mapping[str, Any] = _unpack(packed)
        return OutgoingReply(
            session=session_id,
            key=key_of(record),
            number=number,
            payload=self._said(session_id, values),
            at=from_ms(int(values["at"])),
            tries=tries,
            parts=_parts(record, number),
            resent=values.get("resent", 0),
        )

    def _said(self, session_id: str, values: Mapping[str, Any]) -> bytes:
        """Return the payload of an entry of a transcript."""
        return self._sealing.open(values["p"].encode(), message=session_id, reply=session_id)


def _handover(wait: MessageWait | None) -> tuple[str | bytes, ...]:
    """Return who answers from now on, why, and the line that says so."""
    if wait is None or wait.person is None:
        return "", "", ""
    return wait.person, wait.reason, handover_note(wait.person, wait.reason)


def key_of(record: Mapping[bytes, bytes]) -> SessionKey:
    """Return the key of a session from its record."""
    return SessionKey(
        tenant=record[b"tenant"].decode(),
        env=record[b"env"].decode(),
        endpoint=record[b"endpoint"].decode(),
        conversation=record[b"conversation"].decode(),
        user=record[b"user"].decode(),
    )


def _session(row: Sequence[Any]) -> Session:
    packed_id, fields, active, buffered, current = row
    session_id = packed_id.decode()
    record = pairs(fields)
    get = record.get
    state, hold, since = (part.decode() for part in current)
    number = get(b"cur")
    person, why = get(b"person"), get(b"why")
    return Session(
        id=session_id,
        key=key_of(record),
        state=_state_of(person, state, hold),
        kind=record[b"kind"].decode(),
        execution=None if number is None else ExecutionId(f"{session_id}~{number.decode()}"),
        execution_state=State(state) if state else None,
        created_at=from_ms(int(record[b"born"])),
        active_at=from_ms(int(float(active))),
        last=int(get(b"last", 0)),
        buffered=int(buffered),
        since=from_ms(int(since)) if since else None,
        turn=int(get(b"turn", 0)),
        person=None if person is None else person.decode(),
        handover_reason=None if why is None else why.decode(),
        executions=int(get(b"n", 0)),
        revision=None if (revision := get(b"rev")) is None else revision.decode(),
    )


def _state_of(person: bytes | None, state: str, hold: str) -> SessionState:
    if person is not None:
        return SessionState.PERSON
    if not state:
        return SessionState.IDLE
    if state != State.SUSPENDED:
        return SessionState.RUNNING
    return SessionState.WAITING if hold == Hold.MESSAGE else SessionState.SUSPENDED


def _parts(record: Mapping[bytes, bytes], number: int) -> int:
    """Return how many messages of a reply are sent."""
    of, _, count = record.get(b"parts", b"").partition(b" ")
    return int(count) if of == b"%d" % number else 0

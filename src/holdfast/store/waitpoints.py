"""Waitpoints, waits and signals of executions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from holdfast.model import conditions, expressions, schemas
from holdfast.model.conditions import Condition, Seen
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.sealing import Sealing
from holdfast.model.states import State
from holdfast.model.waitpoints import (
    Asks,
    Effect,
    InboxItem,
    NewSignal,
    NewWaitpoint,
    Signal,
    Suspension,
    Waitpoint,
    WaitpointState,
    parse_waitpoint_id,
    waitpoint_id,
)
from holdfast.store import decode
from holdfast.store.domain import Domain

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """What a suspended execution waits for, and the signals that have arrived."""

    points: Sequence[Waitpoint]
    condition: Condition
    seen: Sequence[Seen]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """How a signal was authenticated: by a token, or as an operator (no token)."""

    made_ms: int | None = None
    #: When the grace of the token's key ends.
    grace_until_ms: int | None = None
    #: The person that the token names.
    person: str = ""


class Waitpoints(Domain):
    """Transitions and reads of waiting."""

    async def prepare(
        self, execution_id: str, fence: str, items: Sequence[NewWaitpoint]
    ) -> list[Waitpoint]:
        """Create waitpoints before the wait."""
        rows = await self._call.write(
            "hf_waitpoint_prepare",
            self._store.tag_of(execution_id),
            execution_id,
            fence,
            *(encode_waitpoint(item) for item in items),
        )
        return [_point(execution_id, number, packed) for number, packed in rows]

    async def suspend(
        self,
        execution_id: str,
        fence: str,
        items: Sequence[NewWaitpoint | int],
        condition: Condition,
        *,
        names: Sequence[str],
        key: str,
        timeout_ms: int | None,
        on_timeout: str,
        reason: str,
    ) -> Suspension:
        """Suspend; `names` are the names of the waitpoints in the condition."""
        tree = _pack(conditions.encode(condition, {name: i + 1 for i, name in enumerate(names)}))
        specs = [
            _pack({"number": item}) if isinstance(item, int) else encode_waitpoint(item)
            for item in items
        ]
        timeout = "" if timeout_ms is None else str(timeout_ms)
        head = (execution_id, fence, key, timeout, on_timeout, reason)
        seen, fitting = b"", _pack({})
        while True:
            word, answer, *rows = await self._call.write(
                "hf_waitpoint_suspend",
                self._store.tag_of(execution_id),
                *head,
                seen,
                fitting,
                tree,
                *specs,
            )
            if word != b"check":
                break
            # Early signals meet expressions: decide here, and send how many signals this covers.
            early = [(n, names[position - 1], packed) for n, position, packed in rows[0]]
            known = [(n, self._seen(execution_id, packed, name)) for n, name, packed in early]
            seen, fitting = answer, _pack(_decide(condition, known))
        points = tuple(_point(execution_id, number, packed) for number, packed in rows)
        signals = tuple(self._signal(execution_id, packed) for packed in answer[1:])
        return Suspension(state=State(word.decode()), waitpoints=points, signals=signals)

    async def denied(self, execution_id: str, asks: Asks) -> bool:
        """Return whether an execution was denied more of a budget at this limit."""
        tag = self._store.tag_of(execution_id)
        (word,) = await self._call.read(
            "hf_waitpoint_denied", tag, execution_id, asks.budget, asks.dimension, str(asks.limit)
        )
        return bool(word)

    async def signal(self, item: NewSignal, sender: Sender) -> tuple[Effect, bool]:
        """Send a signal whose sender is authenticated.

        Also returns whether it answers an execution that asks for more of a budget.
        """
        execution_id, number = parse_waitpoint_id("waitpoint", item.waitpoint)
        made, grace = sender.made_ms, sender.grace_until_ms
        args: list[str | bytes] = [
            execution_id,
            str(number),
            "" if made is None else str(made),
            "" if grace is None else str(grace),
            item.idempotency_key or new_id(),
            item.name,
            self._sealing.seal_token(item.payload, "signal", execution_id),
            item.source.type,
            item.source.identity,
            item.correlation,
        ]
        version, fitting, request, limit = b"", "", new_id(), ""
        while True:
            word, *answer = await self._call.write(
                "hf_waitpoint_signal",
                self._store.tag_of(execution_id),
                *args,
                version,
                fitting,
                request,
                limit,
                sender.person,
            )
            if word != b"check":
                return Effect(word.decode()), bool(answer[1])
            # The waitpoint has a schema or expressions: check here, and send the checked state.
            version, schema, rows = answer
            payload = msgspec.json.decode(item.payload)
            if schema:
                schemas.check(schema, payload)
                limit = _limit(payload)
            holds = _evaluator(item, payload)
            fitting = ",".join(str(leaf) for leaf, where in rows if holds(where.decode()))

    async def resume(self, execution_id: str, payload: bytes, identity: str) -> State:
        """Let an execution continue without the signals that it waits for."""
        (state,) = await self._call.write(
            "hf_waitpoint_resume",
            self._store.tag_of(execution_id),
            execution_id,
            new_id(),
            self._sealing.seal_token(payload, "signal", execution_id),
            identity,
        )
        return State(state.decode())

    async def revoke(self, execution_id: str, number: int) -> str:
        """Close a waitpoint; returns why it is closed."""
        tag = self._store.tag_of(execution_id)
        _, why = await self._call.write("hf_waitpoint_revoke", tag, execution_id, str(number))
        return str(why.decode())

    async def token(
        self, execution_id: str, number: int, reader: str, person: str = ""
    ) -> Waitpoint:
        """Return the parts of its token; the history records who asked."""
        tag = self._store.tag_of(execution_id)
        (packed,) = await self._call.write(
            "hf_waitpoint_token", tag, execution_id, str(number), new_id(), reader, person
        )
        return _point(execution_id, number, packed)

    async def read(self, execution_id: str, number: int, sender: Sender) -> Waitpoint:
        """Return a waitpoint to a holder of its token."""
        (packed,) = await self._call.read(
            "hf_waitpoint_read",
            self._store.tag_of(execution_id),
            execution_id,
            str(number),
            str(sender.made_ms),
            "" if sender.grace_until_ms is None else str(sender.grace_until_ms),
            sender.person,
        )
        return _point(execution_id, number, packed)

    async def of(self, execution_id: str) -> tuple[list[Waitpoint], Awaited | None]:
        """Return the waitpoints of an execution, and what it waits for."""
        tag = self._store.tag_of(execution_id)
        rows, packed, signals = await self._call.read("hf_waitpoint_list", tag, execution_id)
        points = [_point(execution_id, number, one) for number, one in rows]
        if not packed:
            return points, None
        values: Mapping[str, Any] = _unpack(packed)
        numbers: Sequence[int] = values["points"]
        waited = [points[number - 1].name for number in numbers]
        seen = [
            self._seen(execution_id, one, waited[numbers.index(point)])
            for one in signals
            if (point := _unpack(one).get("point")) in numbers
        ]
        condition = conditions.decode(values["tree"], waited)
        return points, Awaited(points=points, condition=condition, seen=seen)

    async def signals(self, execution_id: str) -> list[Signal]:
        """Return all signals of an execution, in the order of arrival."""
        tag = self._store.tag_of(execution_id)
        (rows,) = await self._call.read("hf_waitpoint_signals", tag, execution_id)
        return [self._signal(execution_id, packed) for packed in rows]

    def _signal(self, execution_id: str, packed: bytes) -> Signal:
        return open_signal(self._sealing, execution_id, decode.signal(execution_id, packed))

    def _seen(self, execution_id: str, packed: bytes, waitpoint: str) -> Seen:
        signal = self._signal(execution_id, packed)
        return Seen(
            waitpoint=waitpoint,
            name=signal.name,
            payload=msgspec.json.decode(signal.payload),
            source=(signal.source.type, signal.source.identity),
        )

    async def inbox(
        self, tenant: str | None, after: int, limit: int
    ) -> list[tuple[int, InboxItem]]:
        """Return up to `limit` waitpoints created after a stamp, oldest first, with stamps."""
        replies = await asyncio.gather(
            *(
                self._call.read("hf_waitpoint_inbox", tag, tenant or "", str(after), str(limit))
                for tag in self._store.tags()
            )
        )
        items = [_inbox_item(row) for (rows,) in replies for row in rows]
        items.sort(key=lambda row: (row[0], row[1].waitpoint.id))
        return items


def _limit(payload: Any) -> str:
    """Return the limit that a checked answer grants, if it answers a question for more."""
    limit = payload.get("limit") if isinstance(payload, dict) else None
    # In JSON Schema 300.0 is an integer.
    return str(int(limit)) if isinstance(limit, int | float) else ""


def encode_waitpoint(item: NewWaitpoint) -> bytes:
    """Encode a waitpoint for lib/waitpoint/waitpoints.lua; absent fields are left out."""
    values = {
        "name": item.name,
        "expires": item.expires_ms,
        "uses": item.uses,
        "names": item.signals or None,
        "answerers": item.answerers or None,
        "personal": item.personal or None,
        "title": item.title or None,
        "on_open": item.on_open,
        "key": item.key,
        "asks": None if item.asks is None else asdict(item.asks),
        "schema": None if item.schema is None else schemas.encode("schema", item.schema).decode(),
    }
    return _pack({k: v for k, v in values.items() if v is not None})


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_ms(value)


def _point(execution_id: str, number: int, packed: bytes) -> Waitpoint:
    values: Mapping[str, Any] = _unpack(packed)
    get = values.get
    schema = get("schema")
    return Waitpoint(
        id=waitpoint_id(execution_id, int(number)),
        execution_id=execution_id,
        name=values["name"],
        state=WaitpointState(values["state"]),
        created_at=from_ms(values["made"]),
        expires_at=_moment(get("until")),
        until=_moment(min((end for end in (get("until"), get("due")) if end), default=None)),
        closed_at=_moment(get("closed")),
        why=get("why"),
        signals=tuple(get("names", ())),
        answerers=tuple(get("answerers", ())),
        personal=get("personal", False),
        title=get("title", ""),
        on_open=get("on_open"),
        uses=get("uses"),
        used=get("used", 0),
        wanted=get("wanted"),
        came=tuple(get("came", ())),
        schema=None if schema is None else msgspec.json.decode(schema),
        asks=_asks(get("asks")),
    )


def _asks(values: Mapping[str, Any] | None) -> Asks | None:
    if values is None:
        return None
    return Asks(**{name: values[name] for name in Asks.__slots__})


def _inbox_item(row: Sequence[bytes]) -> tuple[int, InboxItem]:
    point_id, tenant, kind, lane, hold, packed = row
    execution_id, number = parse_waitpoint_id("waitpoint", point_id.decode())
    stamp: int = _unpack(packed)["stamp"]
    return stamp, InboxItem(
        waitpoint=_point(execution_id, number, packed),
        tenant=tenant.decode(),
        kind=kind.decode(),
        lane=lane.decode(),
        escalated=hold == b"escalated",
    )


def open_signal(sealing: Sealing, execution_id: str, signal: Signal) -> Signal:
    """Return a signal in plain form."""
    payload = sealing.open(signal.payload, signal=execution_id)
    return signal if payload is signal.payload else replace(signal, payload=payload)


def _decide(condition: Condition, early: Sequence[tuple[int, Seen]]) -> dict[int, list[int]]:
    """Return for each leaf with an expression which of the early signals it matches."""
    return {
        number: [n for n, seen in early if leaf.matches(seen)]
        for number, leaf in enumerate(conditions.leaves(condition), 1)
        if leaf.where is not None
    }


def _evaluator(item: NewSignal, payload: Any) -> Callable[[str], bool]:
    source = (item.source.type, item.source.identity)
    seen = Seen(waitpoint="", name=item.name, payload=payload, source=source)
    return lambda where: expressions.holds(where, seen.variables())

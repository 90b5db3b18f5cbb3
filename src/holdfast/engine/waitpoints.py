"""Waiting for people and systems: waitpoints, tokens, signals, and the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from holdfast import api
from holdfast.engine.admission import Admission
from holdfast.engine.courier import Courier
from holdfast.engine.keyring import SigningKeys
from holdfast.errors import HoldfastError, InvalidInput, WaitpointNotFound
from holdfast.model import bounds, calls, checks, conditions
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.suspensions import NewSuspension
from holdfast.model.tokens import Grant, KeyRing, Token, fingerprint
from holdfast.model.waitpoints import (
    Effect,
    Inbox,
    NewSignal,
    NewWaitpoint,
    Prepared,
    Signal,
    Suspension,
    Waitpoint,
    decode_payload,
    parse_waitpoint_id,
)
from holdfast.store.store import Store
from holdfast.store.waitpoints import Sender


class Waitpoints(api.Waitpoints):
    """Operations on waitpoints."""

    def __init__(
        self, store: Store, keys: SigningKeys, admission: Admission, courier: Courier
    ) -> None:
        self._store = store.waitpoints
        self._tag_of = store.tag_of
        self._admission = admission
        self._courier = courier
        self._keys = keys

    # For the holder of a lease

    @override
    async def prepare(
        self, execution_id: str, lease: Lease, items: Sequence[NewWaitpoint]
    ) -> list[Waitpoint]:
        checks.execution_id("id", execution_id)
        checks.instance("lease", lease, Lease)
        items = [_keyed(checks.instance("waitpoint", item, NewWaitpoint)) for item in items]
        _check_names([item.name for item in items])
        # Concurrently: calls of the same moment share a round trip.
        ring, points = await asyncio.gather(
            self._keys.ring(), self._store.prepare(execution_id, lease.fence, items)
        )
        self._announce(execution_id, items)
        return [_with_token(point, ring) for point in points]

    def _announce(self, execution_id: str, items: Sequence[NewWaitpoint | Prepared]) -> None:
        """Call the webhooks of new waitpoints soon; if this process dies, another one does."""
        if any(isinstance(item, NewWaitpoint) and item.on_open for item in items):
            self._courier.poke(self._tag_of(execution_id))

    @override
    async def _suspend(self, new: NewSuspension) -> Suspension:
        execution_id, lease = new.execution_id, new.lease
        items = await self._resolve(execution_id, new.waitpoints)
        names = [item.name for item in items]
        _check_names(names)
        parsed = conditions.parse(new.condition, names)
        own = [_own(item, execution_id) for item in items]
        ring, answer = await asyncio.gather(
            self._keys.ring(),
            self._store.suspend(
                execution_id,
                lease.fence,
                own,
                parsed,
                names=names,
                key=new.key,
                timeout_ms=new.timeout_ms,
                on_timeout=new.on_timeout,
                reason=new.reason,
            ),
        )
        self._announce(execution_id, items)
        if answer.state is State.SUSPENDED:
            self._admission.ended(execution_id, lease)
        return replace(answer, waitpoints=[_with_token(one, ring) for one in answer.waitpoints])

    @override
    async def token_of(self, grant: Grant) -> Token:
        return (await self._keys.ring()).sign(grant)

    async def _resolve(
        self, execution_id: str, waitpoints: Sequence[NewWaitpoint | Prepared | str]
    ) -> list[NewWaitpoint | Prepared]:
        """Look up the names of waitpoints that are given by id."""
        names: dict[str, str] = {}
        if any(isinstance(item, str) for item in waitpoints):
            points, _ = await self._store.of(execution_id)
            names = {point.id: point.name for point in points}
        items: list[NewWaitpoint | Prepared] = []
        for item in waitpoints:
            if isinstance(item, str):
                if item not in names:
                    raise WaitpointNotFound(f"no waitpoint has the id {item}", id=item)
                items.append(Prepared(item, names[item]))
            elif isinstance(item, NewWaitpoint | Prepared):
                items.append(item)
            else:
                checks.refuse("waitpoints", "must be a list of waitpoints", item)
        return items

    # For those who answer

    @override
    async def signal(self, item: NewSignal, token: str | None = None) -> Effect:
        checks.instance("signal", item, NewSignal)
        sender = Sender()
        if token is not None:
            sender = _sender(await self._keys.ring(), token, item.waitpoint)
        effect, answers_a_question = await self._store.signal(item, sender)
        if answers_a_question:
            execution_id, _ = parse_waitpoint_id("waitpoint", item.waitpoint)
            await self._courier.deliver(self._tag_of(execution_id))
        return effect

    @override
    async def read(self, waitpoint: str, token: str) -> Waitpoint:
        execution_id, number = parse_waitpoint_id("waitpoint", waitpoint)
        ring = await self._keys.ring()
        sender = _sender(ring, token, waitpoint)
        return _described(await self._store.read(execution_id, number, sender), ring)

    @override
    async def signal_many(
        self, items: Sequence[tuple[NewSignal, str | None]]
    ) -> list[Effect | HoldfastError]:
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        answers = await asyncio.gather(
            *(self.signal(item, token) for item, token in items), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, HoldfastError):
                raise answer
        return [answer for answer in answers if isinstance(answer, Effect | HoldfastError)]

    # For operators

    @override
    async def resume(
        self, execution_id: str, payload: bytes = b"null", *, identity: str = ""
    ) -> State:
        checks.execution_id("id", execution_id)
        decode_payload(checks.payload("payload", payload, bounds.SIGNAL_BYTES))
        checks.text("identity", identity, bounds.ID_CHARS)
        return await self._store.resume(execution_id, payload, identity)

    @override
    async def revoke(self, waitpoint: str) -> str:
        return await self._store.revoke(*parse_waitpoint_id("waitpoint", waitpoint))

    @override
    async def token(self, waitpoint: str, *, reader: str, person: str = "") -> Token:
        checks.text("reader", reader, bounds.ID_CHARS, empty=False)
        checks.text("person", person, bounds.ID_CHARS)
        execution_id, number = parse_waitpoint_id("waitpoint", waitpoint)
        ring, point = await asyncio.gather(
            self._keys.ring(), self._store.token(execution_id, number, reader, person)
        )
        return ring.sign(point.grant(person))

    @override
    async def of(self, execution_id: str) -> list[Waitpoint]:
        checks.execution_id("id", execution_id)
        ring, (points, _) = await asyncio.gather(self._keys.ring(), self._store.of(execution_id))
        return [_described(point, ring) for point in points]

    @override
    async def signals(self, execution_id: str) -> list[Signal]:
        return await self._store.signals(checks.execution_id("id", execution_id))

    @override
    async def inbox(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Inbox:
        calls.check_page(limit, tenant)
        after, last_id = _parse_cursor(cursor)
        # The row of the cursor itself is read again, if it still waits.
        ring, rows = await asyncio.gather(
            self._keys.ring(), self._store.inbox(tenant, after - 1, limit + 2)
        )
        # Stamps are unique in a partition; ids decide ties between partitions.
        rows = [row for row in rows if (row[0], row[1].waitpoint.id) > (after, last_id)]
        page = rows[:limit]
        last = f"{page[-1][0]}.{page[-1][1].waitpoint.id}" if len(rows) > limit else None
        items = (replace(one, waitpoint=_described(one.waitpoint, ring)) for _, one in page)
        return Inbox(items=tuple(items), next_cursor=last)


def _sender(ring: KeyRing, token: str, waitpoint: str) -> Sender:
    grant, key = ring.verify(token, waitpoint)
    return Sender(made_ms=grant.made_ms, grace_until_ms=key.until_ms, person=grant.person)


def _keyed(item: NewWaitpoint) -> NewWaitpoint:
    return item if item.key is not None else replace(item, key=new_id())


def _check_names(names: Sequence[str]) -> None:
    most = bounds.WAITPOINTS_IN_WAIT
    if not 1 <= len(names) <= most or len(set(names)) < len(names):
        checks.refuse("waitpoints", f"must have 1 to {most} waitpoints with different names", names)


def _own(item: NewWaitpoint | Prepared, execution_id: str) -> NewWaitpoint | int:
    """Return a new waitpoint unchanged, and an existing one as its number."""
    if isinstance(item, NewWaitpoint):
        return item
    owner, number = parse_waitpoint_id("waitpoints", item.id)
    if owner != execution_id:
        checks.refuse("waitpoints", "must belong to this execution", item.id)
    return number


def _described(point: Waitpoint, ring: KeyRing) -> Waitpoint:
    # Personal tokens have fingerprints of their own; the waitpoint has none.
    shared = None if point.personal else fingerprint(point.grant())
    return replace(point, kid=ring.current, fingerprint=shared)


def _with_token(point: Waitpoint, ring: KeyRing) -> Waitpoint:
    described = _described(point, ring)
    if point.personal:
        tokens = {person: ring.sign(point.grant(person)) for person in point.answerers}
        return replace(described, tokens=tokens)
    return replace(described, token=ring.sign(point.grant()))


def _parse_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return 0, ""
    stamp, _, point_id = checks.text("cursor", cursor, 2 * bounds.ID_CHARS).partition(".")
    if not stamp.isdecimal() or not point_id:
        raise InvalidInput("cursor: must be one that a list returned", field="cursor")
    return int(stamp), point_id

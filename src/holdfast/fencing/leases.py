"""Writer leases on an object store: read, acquire, refresh, release, hand over, repair.

Each operation is one conditional write. The nonce resolves a write whose answer is unclear: a
process that reads its own nonce back has written the record.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Self
from weakref import WeakKeyDictionary

from typing_extensions import override

from holdfast import api
from holdfast.errors import BackendFailed, HoldfastError, InvalidRecord, VersionConflict
from holdfast.fencing import paths, probe, record, rules
from holdfast.fencing.objects import ObjectStore
from holdfast.model import bounds, checks
from holdfast.model.ids import new_id
from holdfast.model.times import SystemTimes, Times
from holdfast.model.writer_leases import (
    BASE_TERM,
    LARGEST,
    Ask,
    Grant,
    LeaseRecord,
    Published,
    Token,
    Version,
    check_key,
    is_own,
    is_still,
    loss,
)

__all__ = ["Ask", "Grant", "Leases"]

#: Versions are remembered for this many keys.
_SEEN_KEYS = 10_000
#: How often an acquisition starts again because its own earlier write arrived late.
_ROUNDS = 4


#: By key: the last version that was read, and since when, on the monotonic clock.
_FirstSeen = OrderedDict[str, tuple[Version, float]]


class Leases(api.WriterLeases):
    """Writer leases. It remembers how long it has seen each version, so keep one per process."""

    def __init__(self, store: ObjectStore, times: Times | None = None) -> None:
        self.store = store
        self.times: Times = times or SystemTimes()
        self._first_seen: _FirstSeen = OrderedDict()

    @classmethod
    def of_process(cls, store: ObjectStore, times: Times | None = None) -> Self:
        """Return leases that share this process's memory of versions on this store and clock."""
        leases = cls(store, times or _SYSTEM_TIMES)
        clocks = _seen.setdefault(store, WeakKeyDictionary())
        leases._first_seen = clocks.setdefault(leases.times, leases._first_seen)
        return leases

    @override
    @property
    def name(self) -> str:
        return self.store.name

    @override
    async def require_fit(self) -> None:
        await probe.require_fit(self.store)

    @override
    async def read(self, key: str) -> Published | None:
        where = paths.lease(check_key(key))
        stored = await self.store.get(where)
        if stored is None:
            return None
        published = Published(record.parse(stored.body, where), stored.version)
        self._note(key, published)
        return published

    def seen_ms(self, key: str) -> float:
        """Return how long this process has seen the last version unchanged."""
        _, since = self._first_seen.get(key, ("", self.times.monotonic_ms()))
        return self.times.monotonic_ms() - since

    def _note(self, key: str, published: Published) -> None:
        known = self._first_seen.get(key)
        if known is None or known[0] != published.version:
            self._first_seen[key] = (published.version, self.times.monotonic_ms())
        self._first_seen.move_to_end(key)
        if len(self._first_seen) > _SEEN_KEYS:
            self._first_seen.popitem(last=False)

    @override
    async def acquire(self, key: str, ask: Ask) -> Grant:
        _check_ask(ask)
        for _ in range(_ROUNDS):
            current = await self.read(key)
            floor = await self._floor(key)
            new_record = rules.take(
                key,
                current.record if current else None,
                floor,
                ask,
                seen_ms=self.seen_ms(key) if current else 0,
                nonce=new_id(),
                wall_ms=self.times.wall_ms(),
            )
            try:
                return await self._publish(new_record, current.version if current else None)
            except _Other as other:
                winner = other.published
            if winner is None or not is_own(winner.record, ask.holder, ask.incarnation):
                break
        if winner is not None:
            rules.check_free(winner.record, ask, self.seen_ms(key))
        raise rules.lost_race(ask, key, winner.record if winner else None)

    async def _floor(self, key: str) -> Token | None:
        """Return the token of the manifest, below which no lease may start."""
        where = paths.manifest(key)
        stored = await self.store.get(where)
        if stored is None:
            return None
        token = record.document(stored.body, where).get("token")
        try:
            return Token(int(token["term"]), int(token["generation"]))  # type: ignore[index]
        except (TypeError, KeyError, ValueError) as error:
            raise InvalidRecord(f"{where} has no token", object=where) from error

    @override
    async def refresh(self, grant: Grant, ttl_ms: int | None = None) -> Grant:
        ttl = grant.record.ttl_ms if ttl_ms is None else _ttl(ttl_ms)
        new_record = rules.refreshed(
            grant.record, ttl, nonce=new_id(), wall_ms=self.times.wall_ms()
        )
        return await self._replace(grant, new_record)

    @override
    async def release(self, grant: Grant) -> None:
        wall_ms = self.times.wall_ms()
        await self._replace(grant, rules.released(grant.record, nonce=new_id(), wall_ms=wall_ms))

    @override
    async def hand_over(self, grant: Grant, to: str) -> None:
        checks.name("to", to)
        wall_ms = self.times.wall_ms()
        new_record = rules.handed_over(grant.record, to, nonce=new_id(), wall_ms=wall_ms)
        await self._replace(grant, new_record)

    @override
    async def repair(self, key: str, floor: Token) -> LeaseRecord:
        where = paths.lease(check_key(key))
        stored = await self.store.get(where)
        try:
            if stored is not None:
                record.parse(stored.body, where)
        except InvalidRecord:
            pass
        else:
            message = f"writer lease {key} is readable, so there is nothing to repair"
            raise VersionConflict(message, key=key)
        manifest = await self._floor(key)
        token = max(floor, manifest) if manifest else floor
        now = self.times.wall_ms()
        repaired = LeaseRecord(
            database_key=key,
            holder_id="repair",
            incarnation=new_id(),
            term=max(token.term, BASE_TERM),
            generation=max(token.generation, 1),
            nonce=new_id(),
            acquired_at_ms=now,
            expires_at_ms=now,
            ttl_ms=0,
            margin_ms=0,
            released=True,
        )
        body = repaired.to_json()
        if stored is None:
            await self.store.put_if_absent(where, body)
        else:
            await self.store.put_if_version(where, body, stored.version)
        return repaired

    async def _replace(self, grant: Grant, new_record: LeaseRecord) -> Grant:
        """Replace the holder's own record."""
        version = grant.version
        for _ in range(_ROUNDS):
            try:
                return await self._publish(new_record, version)
            except _Other as other:
                published = other.published
            if published is None or not is_still(grant.record, published.record):
                break
            # An earlier write of this process, whose answer was lost, succeeded.
            version = published.version
        raise loss(grant.record, published.record if published else None)

    async def _publish(self, new_record: LeaseRecord, expected: Version | None) -> Grant:
        """Write a record if the version still matches; raises _Other if not."""
        where = paths.lease(new_record.database_key)
        body = new_record.to_json()
        deadline_ms = self.times.monotonic_ms() + new_record.ttl_ms - new_record.margin_ms
        failure: HoldfastError
        try:
            if expected is None:
                version = await self.store.put_if_absent(where, body)
            else:
                version = await self.store.put_if_version(where, body, expected)
        except VersionConflict as conflict:
            failure = conflict
        except BackendFailed as trouble:
            if not trouble.maybe_done:
                raise
            failure = trouble
        else:
            self._note(new_record.database_key, Published(new_record, version))
            return Grant(new_record, version, deadline_ms)
        published = await self.read(new_record.database_key)
        if published is not None and published.record.nonce == new_record.nonce:
            return Grant(new_record, published.version, deadline_ms)
        unchanged = (published.version if published else None) == expected
        if isinstance(failure, BackendFailed) and unchanged:
            # The write may still arrive; only that it has not happened yet is certain.
            raise failure
        raise _Other(published)


_SYSTEM_TIMES = SystemTimes()
_seen: WeakKeyDictionary[ObjectStore, WeakKeyDictionary[Times, _FirstSeen]] = WeakKeyDictionary()


class _Other(Exception):
    """The version that a write expected is gone."""

    def __init__(self, published: Published | None) -> None:
        super().__init__()
        self.published = published


def _ttl(value: int) -> int:
    return checks.integer("ttl_ms", value, 1, bounds.LEASE_MAX_MS)


def _check_ask(ask: Ask) -> None:
    checks.name("holder", ask.holder)
    checks.name("incarnation", ask.incarnation)
    _ttl(ask.ttl_ms)
    checks.integer("margin_ms", ask.margin_ms, 0, ask.ttl_ms // 2)
    checks.flag("preempt", ask.preempt)
    if ask.term is not None:
        checks.integer("term", ask.term, 1, LARGEST)
    if ask.preempt and ask.term is None:
        checks.refuse("preempt", "needs a term", ask.preempt)

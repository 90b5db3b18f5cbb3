"""The walk over a live store: every key and every entry of every index, in bounded slices.

A slice is one call, of a few milliseconds at most. What a check reads is of one moment, so calls
that run meanwhile cause no false findings. Keys that move between servers meanwhile may be missed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from holdfast.errors import StoreUnavailable
from holdfast.store.valkey.call import Caller
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.verify import checking
from holdfast.store.verify.drifts import Drift, Kind
from holdfast.store.verify.holders import Holders
from holdfast.store.verify.reading import UNREADABLE, Item, Partition, not_understood

T = TypeVar("T")

#: Called with the number of keys that were checked.
Advance = Callable[[int], None]

#: How many things one call checks.
_SLICE = 16
#: How many keys or entries one command lists.
_LISTED = "256"
#: A repair may uncover the next drift: of an index of indexes, for example.
_MOST_PASSES = 10

_SCAN = {"zset": "ZSCAN", "set": "SSCAN", "hash": "HSCAN"}
#: How many values of a scan belong to one member.
_WIDTH = {"zset": 2, "set": 1, "hash": 2}


class Walked(Protocol):
    """The parts of a store that a walk needs."""

    client: Client
    caller: Caller
    prefix: str

    def tag_of(self, execution_id: str) -> str:
        """Return the tag of the partition of an execution."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """A drift of a partition."""

    tag: str
    drift: Drift
    repaired: bool = False


class Walk:
    """A walk over a store."""

    def __init__(self, store: Walked, *, fix: bool = False, advance: Advance | None = None) -> None:
        self._store = store
        self._fix = fix
        self._advance = advance or (lambda _: None)
        self._holders = Holders(store.caller, store.tag_of)
        self._counts = False
        self._passes = 0
        #: Indexes of another type, which cannot be listed.
        self._misfits: list[Found] = []
        #: What was checked, in the first pass.
        self.keys = 0
        self.entries = 0

    async def size(self) -> int:
        """Return how many keys the servers have, at most."""
        return sum(await self._store.client.on_primaries(("DBSIZE",)))

    async def run(self) -> list[Found]:
        """Check the store; raises StoreUnavailable. With `fix`, until nothing can be repaired."""
        try:
            found = await self._pass()
            counted, self._advance = (self.keys, self.entries), lambda _: None
            repaired = [one for one in found if one.repaired]
            while self._fix and self._passes < _MOST_PASSES and self._may_repair(found):
                found = await self._pass()
                repaired += [one for one in found if one.repaired]
            self.keys, self.entries = counted
        except CallFailed as failure:
            message = f"the store cannot be verified: {failure.text}"
            raise StoreUnavailable(message) from failure
        left = [one for one in found if not one.repaired]
        return list(dict.fromkeys([*repaired, *left]))

    def _may_repair(self, found: Sequence[Found]) -> bool:
        """Return whether another pass may repair more. Counts come last: entries decide them."""
        if any(one.repaired for one in found):
            return True
        settled, self._counts = self._counts, True
        return not settled and any(one.drift.kind is Kind.COUNT for one in found)

    async def _pass(self) -> list[Found]:
        self._passes += 1
        found: list[Found] = []
        async for tag, names in self._slices():
            self.keys += len(names)
            partition = Partition(self._store.caller, tag)
            keys = [name.decode() for name in names if _is_text(name)]
            found += [Found(tag, _unknown(name)) for name in names if not _is_text(name)]
            async for items in self._items(partition, keys):
                found += await self._check(partition, items)
            for key in keys:
                if key.startswith("held:"):
                    found += await self._check_holders(partition, key)
            found += self._misfits
            self._misfits = []
            self._advance(len(names))
        return found

    async def _check(self, partition: Partition, items: Sequence[Item]) -> list[Found]:
        found: list[Found] = []
        for item, drifts in (await partition.check(items)).items():
            left = drifts
            if self._fix:
                mended, left = await partition.mend(item, counts=self._counts)
                found += [Found(partition.tag, drift, repaired=True) for drift in mended]
            found += [Found(partition.tag, drift) for drift in left]
        return found

    async def _check_holders(self, partition: Partition, key: str) -> list[Found]:
        """Check who holds slots of a quota, which the partitions of executions know."""
        found: list[Found] = []
        async for members in self._members(partition.tag, key, "hash"):
            for execution, epoch in members:
                try:
                    drift = await self._holders.check(partition, key, execution, epoch)
                except UNREADABLE as error:
                    text = f"has the holder {execution!r}, which {not_understood(error)}"
                    about = f"quota {key.partition(':')[2]}:"
                    found.append(Found(partition.tag, Drift(Kind.RECORD, about, text)))
                    continue
                if drift is not None:
                    repaired = self._fix and await self._holders.mend(
                        partition, key, execution, epoch
                    )
                    found.append(Found(partition.tag, drift, repaired=repaired))
        return found

    async def _slices(self) -> AsyncIterator[tuple[str, list[bytes]]]:
        """Return the keys of the store, some of one partition at a time."""
        pattern = f"{self._store.prefix}:{{*"
        for server in self._store.client.primaries():
            cursor = b"0"
            while True:
                command = ("SCAN", cursor, "MATCH", pattern, "COUNT", _LISTED)
                cursor, names = await server.call(command)
                by_tag: dict[str, list[bytes]] = defaultdict(list)
                for name in names:
                    tag, _, key = name.partition(b"}:")
                    by_tag[tag.decode(errors="replace") + "}"].append(key)
                for tag, keys in by_tag.items():
                    yield tag, keys
                if cursor == b"0":
                    break

    async def _items(self, partition: Partition, keys: list[str]) -> AsyncIterator[list[Item]]:
        """Return what to check, a slice at a time."""
        for part in _sliced(keys):
            yield [Item(key) for key in part]
        for key in keys:
            family = checking.family_of(partition.scope, key)
            if family is None or family.index is None:
                continue
            async for members in self._members(partition.tag, key, family.index):
                self.entries += len(members)
                for some in _sliced(members):
                    yield [Item(key, member) for member, _ in some]

    async def _members(
        self, tag: str, key: str, kind: str
    ) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """Return the members of an index with their values, some at a time."""
        cursor = b"0"
        while True:
            command = (_SCAN[kind], f"{tag}:{key}", cursor, "COUNT", _LISTED)
            try:
                cursor, flat = await self._store.client.call(command)
            except CallFailed as failure:
                if not failure.text.startswith("WRONGTYPE"):
                    raise
                drift = Drift(Kind.RECORD, f"index {key}", f"is no {kind}")
                self._misfits.append(Found(tag, drift))
                return
            width = _WIDTH[kind]
            yield list(zip(flat[::width], flat[width - 1 :: width], strict=True))
            if cursor == b"0":
                return


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unknown(name: bytes) -> Drift:
    return Drift(Kind.UNKNOWN, f"key {name!r}", "is of no known family")


def _sliced(things: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(things), _SLICE):
        yield things[start : start + _SLICE]

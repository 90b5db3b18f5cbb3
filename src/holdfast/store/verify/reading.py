"""Checks of a live partition: all that a check reads is of one moment, and so is its repair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.errors import StoreFault
from holdfast.store.valkey.call import Caller
from holdfast.store.verify import checking
from holdfast.store.verify.drifts import Drift, Kind
from holdfast.store.verify.view import Missing, Read, Snapshot, View

#: A check that wants to read more after this many rounds is wrong.
_MOST_ROUNDS = 40
#: What a check raises that does not understand what it reads.
UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, IndexError)
#: How often a repair is tried while other calls change what it is about.
_TRIES = 8


@dataclass(frozen=True, slots=True)
class Item:
    """What is checked: a key, or an entry of an index."""

    key: str
    member: bytes | None = None

    def check(self, view: View, scope: str) -> Iterator[Drift]:
        """Return what is wrong."""
        if self.member is None:
            return checking.check_key(view, scope, self.key)
        return checking.check_entry(view, scope, self.key, self.member)


@dataclass(frozen=True, slots=True)
class _Moment:
    """What was read of a partition in one call."""

    reads: tuple[Read, ...]
    digest: str
    drifts: dict[Item, list[Drift]]


class Partition:
    """A partition of a live store."""

    def __init__(self, caller: Caller, tag: str) -> None:
        self._caller = caller
        self.tag = tag
        self.scope = checking.scope_of(tag)

    async def check(self, items: Sequence[Item]) -> dict[Item, list[Drift]]:
        """Return the drifts of each item that has any, all of one moment."""
        return (await self._look(items)).drifts

    async def mend(self, item: Item, *, counts: bool) -> tuple[list[Drift], list[Drift]]:
        """Repair an item, counts only if asked for; returns what was repaired, and what is left."""
        mended: list[Drift] = []
        drifts: list[Drift] = []
        for _ in range(_TRIES):
            moment = await self._look([item])
            drifts = moment.drifts.get(item, [])
            curable = [d for d in drifts if d.repairs and (counts or d.kind is not Kind.COUNT)]
            if not curable:
                return mended, drifts
            if await self._repair(moment, curable):
                mended += curable
        # Other calls change it all the time.
        return mended, drifts

    async def read(self, reads: Sequence[Read]) -> tuple[int, str, dict[Read, Any]]:
        """Return the time, a digest of all answers, and the answers."""
        args = [part for read in reads for part in read]
        now, digest, answers = await self._caller.read("hf_verify_read", self.tag, *args)
        pairs = zip(reads, answers, strict=True)
        return now, digest.decode(), {read: _decoded(read[0], *answer) for read, answer in pairs}

    async def _look(self, items: Sequence[Item]) -> _Moment:
        """Read what the checks want, from the beginning, until they want nothing more."""
        reads: dict[Read, None] = {}
        now: int | None = None
        digest, answers = "", dict[Read, Any]()
        for _ in range(_MOST_ROUNDS):
            view = Snapshot(answers, now)
            found = {item: self._drifts(view, item) for item in items}
            if not view.wanted:
                drifts = {item: list(dict.fromkeys(d)) for item, d in found.items() if d}
                return _Moment(tuple(reads), digest, drifts)
            reads |= view.wanted
            now, digest, answers = await self.read(list(reads))
        message = f"a check of {items[0].key} reads without end"
        raise RuntimeError(message)

    def _drifts(self, view: Snapshot, item: Item) -> list[Drift]:
        try:
            return list(item.check(view, self.scope))
        except Missing:
            return []
        except UNREADABLE as error:
            return [Drift(Kind.RECORD, f"key {item.key}", not_understood(error))]

    async def _repair(self, moment: _Moment, drifts: Sequence[Drift]) -> bool:
        """Write repairs if nothing has changed since; returns whether."""
        args: list[str | bytes] = [moment.digest, str(len(moment.reads))]
        args += [part for read in moment.reads for part in read]
        for drift in drifts:
            for repair in drift.repairs:
                args += [str(len(repair)), *repair]
        try:
            (answer,) = await self._caller.write("hf_verify_mend", self.tag, *args)
        except StoreFault:
            # A key is not of the type that a repair needs.
            return False
        return bool(answer == b"mended")


def not_understood(error: Exception) -> str:
    """Return the end of a sentence about what cannot be read."""
    return f"cannot be understood ({type(error).__name__}: {error})"


def _pairs(flat: list[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(flat[::2], flat[1::2], strict=True)


_WHOLE: dict[bytes, Callable[[Any], Any]] = {
    b"hash": lambda flat: dict(_pairs(flat)),
    b"zset": lambda flat: {member: float(score) for member, score in _pairs(flat)},
    b"set": set,
    b"stream": lambda rows: [(name, dict(_pairs(fields))) for name, fields in rows],
}


def _decoded(verb: str, kind: bytes, found: Any = None) -> Any:
    """Return an answer as the rules want it."""
    if verb == "n":
        return 0 if kind == b"none" else found
    if kind == b"none":
        return None
    if verb == "m":
        return found if kind == b"hash" else float(found)
    return _WHOLE.get(kind, lambda value: value)(found)

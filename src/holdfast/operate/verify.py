"""Verify: recompute every index of a store from its records, and repair what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.store.store import Store
from holdfast.store.verify.walking import Found, Walk

#: Called with the number of keys that were checked since the last call, and the total.
Advance = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification looked at, and what it found."""

    keys: int
    entries: int
    drifts: Sequence[Found]

    @property
    def left(self) -> Sequence[Found]:
        """What was found and is not repaired."""
        return [found for found in self.drifts if not found.repaired]


async def verify(store: Store, *, fix: bool = False, advance: Advance | None = None) -> Verified:
    """Verify a store, which may be in use; raises StoreUnavailable. `fix` repairs drifts."""
    total = 0

    def report(done: int) -> None:
        if advance is not None:
            advance(done, total)

    walk = Walk(store, fix=fix, advance=report)
    total = await walk.size()
    report(0)
    found = await walk.run()
    return Verified(walk.keys, walk.entries, found)

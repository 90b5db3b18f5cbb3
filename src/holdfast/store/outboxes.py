"""Outboxes: messages between partitions, which engine/courier.py delivers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.model.limit_refs import LimitRef
from holdfast.model.webhooks import Announced
from holdfast.store.domain import Domain

ENTRIES = 500
_ANNOUNCED: dict[str, Announced] = {"h": "waitpoint", "e": "execution", "g": "graph"}


@dataclass(frozen=True, slots=True)
class Release:
    """Executions release the slots that they got under an epoch, or no longer wait."""

    #: One; or several that ran, with blanks between.
    executions: str
    epoch: str
    #: 1 if they ran, 0 if not, 2 if one may not have been admitted yet.
    used: str
    limits: tuple[LimitRef, ...]


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A limit has room for an execution."""

    execution_id: str
    limit: str


@dataclass(frozen=True, slots=True)
class Raise:
    """The answer to an execution that asked for more of a budget: a new hard limit."""

    waitpoint: str
    budget: str
    dimension: str
    limit: str


@dataclass(frozen=True, slots=True)
class Announce:
    """Something that a webhook announces: an open waitpoint, or the end of the others."""

    what: Announced
    id: str
    #: When it ended, in ms.
    ended_ms: int = 0


def parse(entry: bytes) -> Release | WakeUp | Raise | Announce:
    """Decode an entry."""
    word, execution_id, *rest = entry.decode().split("\n")
    if word == "w":
        return WakeUp(execution_id, rest[0])
    if word in _ANNOUNCED:
        return Announce(_ANNOUNCED[word], execution_id, int(rest[0]) if rest else 0)
    if word == "l":
        return Raise(execution_id, *rest)
    epoch, used, *limits = rest
    return Release(execution_id, epoch, used, tuple(map(LimitRef.parse, limits)))


class Outboxes(Domain):
    """The outboxes of partitions."""

    async def read(self, tag: str) -> list[bytes]:
        """Return the oldest entries."""
        (entries,) = await self._call.read("hf_outbox_read", tag, str(ENTRIES))
        return list(entries)

    async def clear(self, tag: str, entries: Sequence[bytes]) -> int:
        """Remove delivered entries; returns how many are left."""
        (left,) = await self._call.write("hf_outbox_clear", tag, *entries)
        return int(left)

"""Drifts: what differs from what the records say, and how it is repaired."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

#: A command: its verb, the key without its tag, the rest.
Repair = tuple[str | bytes, ...]


class Kind(StrEnum):
    """What kind of drift it is."""

    MISSING = "missing"
    EXTRA = "extra"
    WRONG = "wrong"
    ORPHAN = "orphan"
    COUNT = "count"
    RECORD = "record"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Drift:
    """A disagreement between keys of a partition. Without repairs, nobody knows which is right."""

    kind: Kind
    #: What disagrees: a thing, or a key.
    about: str
    text: str
    repairs: tuple[Repair, ...] = ()

    def __str__(self) -> str:
        """Return it as one sentence."""
        return f"{self.about} {self.text}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A place in an index that a thing must have."""

    key: str
    member: bytes
    #: The score or value; None allows any.
    value: float | bytes | None = None
    #: May be absent.
    optional: bool = False
    #: What a repair writes where any value is allowed.
    default: float | bytes | None = None
    #: Its value is nowhere else, so nothing can write it again.
    is_data: bool = False

    def fits(self, found: float | bytes) -> bool:
        """Return whether a value that was found is right."""
        return self.value is None or found == self.value


def put(entry: Entry, kind: str) -> Repair:
    """Return the command that writes an entry into a set, sorted set or hash."""
    if kind == "set":
        return ("SADD", entry.key, entry.member)
    value = entry.default if entry.value is None else entry.value
    if kind == "hash":
        return ("HSET", entry.key, entry.member, value if isinstance(value, bytes) else b"")
    score = value if isinstance(value, float) else 0.0
    return ("ZADD", entry.key, format(score, ".17g"), entry.member)


_REMOVE = {"set": "SREM", "zset": "ZREM", "hash": "HDEL"}


def remove(key: str, member: bytes, kind: str) -> Repair:
    """Return the command that takes a member out of a set, sorted set or hash."""
    return (_REMOVE[kind], key, member)


def in_record(about: str, sentences: Iterable[str]) -> Iterator[Drift]:
    """Return what is wrong within a record: it can be reported, not repaired."""
    for sentence in sentences:
        yield Drift(Kind.RECORD, about, sentence)

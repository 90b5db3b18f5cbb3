"""What the rules read: the keys of one partition, by the part of their name after the tag."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

Record = dict[str, bytes]
#: What was read: `v` a whole value, `m` a member of it, `n` its size; the key; the member.
Read = tuple[str, str, bytes]


class Missing(Exception):
    """A rule wants more than was read: read it, and begin again."""


class View(ABC):
    """The keys of one partition at one moment."""

    #: The store's time in ms, or None if it is not known.
    now_ms: int | None = None

    @abstractmethod
    def _get(self, read: Read) -> Any:
        """Return what a read yields."""

    @abstractmethod
    def prefetch(self, reads: Iterable[Read]) -> None:
        """Announce reads that will follow, so that they are done together."""

    def value(self, key: str) -> Any:
        """Return a whole value, or None. Only for keys that are bounded."""
        return self._get(("v", key, b""))

    def member(self, key: str, member: bytes) -> Any:
        """Return the score of a member, 1.0 in a set, the value of a field; None if absent."""
        return self._get(("m", key, member))

    def size(self, key: str) -> int:
        """Return how many members a key has."""
        size: int = self._get(("n", key, b""))
        return size

    def has(self, key: str) -> bool:
        """Return whether a key exists."""
        return self.size(key) > 0

    def record(self, key: str) -> Record | None:
        """Return a hash with its field names as text, or None."""
        fields = self.value(key)
        return None if fields is None else {name.decode(): v for name, v in fields.items()}

    def execution(self, execution_id: str) -> Record | None:
        """Return the record of an execution that is not merely staged."""
        record = self.record(f"x:{execution_id}")
        return None if record is None or record["state"] == b"staged" else record


class Dump(View):
    """A partition of which all keys are at hand."""

    def __init__(self, keys: Mapping[str, Any], now_ms: int | None = None) -> None:
        self.keys = keys
        self.now_ms = now_ms

    def prefetch(self, reads: Iterable[Read]) -> None:
        """Do nothing: everything is at hand."""

    def _get(self, read: Read) -> Any:
        verb, key, member = read
        return part_of(self.keys.get(key), verb, member)


class Snapshot(View):
    """What was read of a live partition in one call."""

    def __init__(self, answers: Mapping[Read, Any], now_ms: int | None) -> None:
        self._answers = answers
        self.now_ms = now_ms
        #: What was asked for and was not read yet.
        self.wanted: dict[Read, None] = {}

    def prefetch(self, reads: Iterable[Read]) -> None:
        """Announce reads; raises Missing if one was not done yet."""
        lacking = [read for read in reads if not self._knows(read)]
        self.wanted.update(dict.fromkeys(lacking))
        if lacking:
            raise Missing

    def _knows(self, read: Read) -> bool:
        return read in self._answers or ("v", read[1], b"") in self._answers

    def _get(self, read: Read) -> Any:
        self.prefetch((read,))
        if read in self._answers:
            return self._answers[read]
        verb, key, member = read
        return part_of(self._answers["v", key, b""], verb, member)


def part_of(value: Any, verb: str, member: bytes) -> Any:
    """Return what a read yields of a whole value."""
    if verb == "v":
        return value
    if verb == "n":
        return 0 if value is None else max(1, len(value))
    if isinstance(value, Mapping):
        return value.get(member)
    return 1.0 if value is not None and member in value else None

"""Values of event feeds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from holdfast.model import checks
from holdfast.model.executions import Event
from holdfast.model.states import State

_POSITION = re.compile(r"(\d{1,15})-(\d{1,15})(?:\.(\d{1,4}))?\Z")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A position in a feed. Entries are ordered by time, then by partition, then by number."""

    ms: int
    partition: int
    number: int

    @classmethod
    def parse(cls, text: str, partition: int = 0) -> Self:
        """Read a position; raises InvalidInput."""
        match = _POSITION.match(text)
        if match is None:
            checks.refuse("position", "must be a cursor that a feed returned", text)
        ms, number, given = match.groups()
        return cls(int(ms), int(given) if given is not None else partition, int(number))

    def __str__(self) -> str:
        return f"{self.ms}-{self.number}.{self.partition}"

    def start_in(self, partition: int) -> str:
        """Return where to continue in a partition's stream, after this position."""
        if partition < self.partition:
            return f"{self.ms + 1}-0"
        if partition > self.partition:
            return f"{self.ms}-0"
        return f"({self.ms}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """An execution changed its state."""

    position: Position
    at: datetime
    execution: str
    kind: str
    lane: str
    #: None for a new execution.
    before: State | None
    state: State
    #: Attempts started so far.
    attempts: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change of an execution."""

    state: State
    #: The event; None if the state changed without one, such as at the end of a delay.
    event: Event | None
    #: Where to continue after this change; None if it does not have to be remembered.
    position: str | None


class Noun(StrEnum):
    """What a feed is about."""

    EXECUTION = "execution"
    SESSION = "session"
    WAITPOINT = "waitpoint"
    DEPLOYMENT = "deployment"
    QUEUE = "queue"
    WORKER = "worker"


#: Nouns whose changes are in the partitions of executions; the others are in the global partition.
PARTITIONED = frozenset({Noun.SESSION, Noun.WAITPOINT})


def nouns(types: Iterable[str]) -> frozenset[Noun]:
    """Check what to follow."""
    chosen = frozenset(Noun(checks.one_of("types", word, list(Noun))) for word in types)
    if not chosen:
        checks.refuse("types", "must have at least one", ())
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class NounChange:
    """Something else than an execution has changed: read it again."""

    position: Position
    at: datetime
    type: Noun
    #: The id of the session, waitpoint or worker; the name of the queue or deployment.
    id: str
    #: created, changed, closed or removed.
    change: str
    #: The execution of a waitpoint.
    execution: str | None = None
    #: The env of a deployment.
    env: str | None = None


class Gap:
    """Entries after the requested position are gone: read the current state again."""

"""What clients asked and were answered, and what the code of tasks saw, with times.

Times are of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from holdfast.errors import HoldfastError, InternalError, InvalidInput, OutcomeUnknown, StoreFault

T = TypeVar("T")


class Status(StrEnum):
    """What a client knows of a call."""

    OK = "ok"
    #: Refused, or not sent: it did not happen.
    FAILED = "failed"
    #: It may have happened, or happens later.
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Call:
    """A call of a client."""

    client: str
    name: str
    #: What it is about.
    key: str
    began: float
    #: What else matters of it.
    facts: dict[str, Any]
    ended: float = float("inf")
    status: Status = Status.UNKNOWN
    #: The code of its error.
    error: str = ""
    answer: Any = None

    @property
    def is_ok(self) -> bool:
        """Whether it was acknowledged."""
        return self.status is Status.OK


@dataclass(slots=True)
class Note:
    """What the code of a task saw."""

    what: str
    execution: str
    epoch: int
    #: When the call whose end it notes began, and when it was noted.
    began: float
    at: float
    name: str = ""
    value: Any = None


@dataclass
class Ledger:
    """Notes of tasks; of another process in a file."""

    path: Path | None = None
    notes: list[Note] = field(default_factory=list)

    def note(self, what: str, execution: str, epoch: int, **fields: Any) -> None:
        """Note something now; `began` is when it began."""
        now = time.monotonic()
        note = Note(what, execution, epoch, fields.pop("began", now), now, **fields)
        if self.path is None:
            self.notes.append(note)
        else:
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(note)) + "\n")

    def gather(self, folder: Path) -> None:
        """Add the notes of other processes."""
        for path in sorted(folder.glob("*.notes")):
            lines = path.read_text().split("\n")
            # A process that was killed may have left half a line.
            self.notes += [Note(**json.loads(line)) for line in lines if line.endswith("}")]
        self.notes.sort(key=lambda note: note.at)

    def of(self, what: str) -> Iterator[Note]:
        """Return the notes of one sort."""
        return (note for note in self.notes if note.what == what)


class History:
    """The calls of all clients."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        #: Errors that no fault explains.
        self.broken: list[str] = []

    async def call(
        self, client: str, name: str, key: str, work: Awaitable[T], **facts: Any
    ) -> T | None:
        """Make a call and keep what became of it; returns its answer, None without one."""
        call = Call(client, name, key, time.monotonic(), facts)
        self.calls.append(call)
        try:
            answer = await work
        except (OutcomeUnknown, asyncio.CancelledError) as error:
            call.error = type(error).__name__
            if isinstance(error, asyncio.CancelledError):
                raise
            return None
        except InvalidInput:
            # A mistake of the workload.
            raise
        except HoldfastError as error:
            if isinstance(error, StoreFault | InternalError):
                self.broken.append(f"{name} {key}: {error.code}: {error}")
            else:
                call.status = Status.FAILED
            call.error = error.code
            return None
        finally:
            call.ended = time.monotonic()
        call.status, call.answer = Status.OK, answer
        return answer

    def of(self, *names: str) -> Iterator[Call]:
        """Return the calls of these names."""
        return (call for call in self.calls if call.name in names)

    def by_key(self, *names: str) -> dict[str, list[Call]]:
        """Return the calls of these names by what they are about."""
        found: dict[str, list[Call]] = {}
        for call in self.of(*names):
            found.setdefault(call.key, []).append(call)
        return found


def happened(calls: list[Call]) -> bool | None:
    """Return whether one of these calls happened; None if nobody knows."""
    if any(call.is_ok for call in calls):
        return True
    return None if any(call.status is Status.UNKNOWN for call in calls) else False

"""Answers that a test gives for people; each waiting execution gets them in order."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.engine import Engine
from holdfast.model.executions import Execution
from holdfast.model.states import Hold, State
from holdfast.model.waitpoints import NewSignal, Source, Waitpoint, WaitpointState


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A signal for waitpoints with a name, or for code that waits for a signal of this name."""

    waitpoint: str
    signal: str
    payload: bytes
    source: Source
    #: How long after the start of the wait it arrives.
    after: timedelta


class Answers:
    """The answers by waitpoint, and how many of them each execution has received."""

    def __init__(self, answers: Sequence[Answer] = ()) -> None:
        self.all: list[Answer] = list(answers)
        #: By execution, replay and the name of the waitpoint.
        self._given: Counter[tuple[str, int, str]] = Counter()
        #: When a waitpoint was first seen open; the clock stands still until everything waits.
        self._asked_at: dict[str, datetime] = {}

    async def give(
        self, engine: Engine, executions: Sequence[Execution], now: datetime
    ) -> tuple[bool, list[datetime]]:
        """Send the next due answer; return whether there was one, or when the next are due."""
        later: list[datetime] = []
        for execution in executions if self.all else ():
            if execution.state is State.DELAYED and execution.hold is Hold.SIGNAL:
                if await self._send(engine, execution):
                    return True, []
                continue
            if execution.state is not State.SUSPENDED:
                continue
            for point, answer in self._next(execution, await engine.waitpoints.of(execution.id)):
                at = self._asked_at.setdefault(point.id, now) + answer.after
                if at <= now:
                    self._given[execution.id, execution.replays, point.name] += 1
                    token = await personal_token(engine, point, answer.source.identity)
                    await engine.waitpoints.signal(_signal(point, answer), token)
                    return True, []
                later.append(at)
        return False, later

    async def _send(self, engine: Engine, execution: Execution) -> bool:
        """Send the next answer to code that waits for a signal of its name."""
        seen: Counter[str] = Counter()
        for answer in self.all:
            name = answer.waitpoint
            seen[name] += 1
            key = (execution.id, execution.replays, f"signal {name}")
            if seen[name] <= self._given[key] or not _is_named(name, execution.listens):
                continue
            self._given[key] += 1
            await engine.signal(execution.id, name, answer.payload, source=answer.source)
            return True
        return False

    def _next(
        self, execution: Execution, points: Sequence[Waitpoint]
    ) -> Iterator[tuple[Waitpoint, Answer]]:
        """Return the open waitpoints of an execution, each with its next answer."""
        for point in points:
            given = self._given[execution.id, execution.replays, point.name]
            left = [answer for answer in self.all if answer.waitpoint == point.name][given:]
            if left and point.state is WaitpointState.OPEN:
                yield point, left[0]


def _is_named(name: str, wanted: Sequence[str]) -> bool:
    return not wanted or any(fnmatch.fnmatchcase(name, one) for one in wanted)


async def personal_token(engine: Engine, point: Waitpoint, person: str) -> str | None:
    """Return the token of a person, if the waitpoint asks for it."""
    if not point.personal:
        return None
    return (await engine.waitpoints.token(point.id, reader="test", person=person)).reveal()


def _signal(point: Waitpoint, answer: Answer) -> NewSignal:
    return NewSignal(
        waitpoint=point.id, name=answer.signal, payload=answer.payload, source=answer.source
    )

"""Where tests are played: a store, and the workers and the clock around it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol, final

from typing_extensions import override

from holdfast.api import Engine
from holdfast.errors import InvalidInput
from holdfast.host.simulator.script import Status
from holdfast.model.sessions import SessionState
from holdfast.model.states import State
from holdfast.model.waitpoints import Waitpoint, WaitpointState

#: How long a turn on a real host may take before its test fails.
PATIENCE_S = 30.0
_LOOK_S = 0.02


async def open_approvals(engine: Engine, execution: str) -> list[Waitpoint]:
    """Return the waitpoints at which an execution waits for people."""
    points = await engine.waitpoints.of(execution)
    return [point for point in points if point.state is WaitpointState.OPEN]


class Subject(Protocol):
    """A flow under test."""

    async def execution(self, engine: Engine) -> str:
        """Return the execution that runs it, or ran it last."""
        ...

    async def status(self, engine: Engine) -> Status | None:
        """Return what it does; None: it runs, or pauses between attempts of a node."""
        ...


@dataclass(frozen=True, slots=True)
class Talk(Subject):
    """A conversation with a user."""

    session: str

    @override
    async def execution(self, engine: Engine) -> str:
        session = await engine.sessions.get(self.session)
        return session.execution or f"{session.id}~{session.executions}"

    @override
    async def status(self, engine: Engine) -> Status | None:
        session = await engine.sessions.get(self.session)
        if session.state is SessionState.WAITING:
            return None if session.buffered else Status.WAITING
        if session.state is SessionState.IDLE:
            return await Job(f"{session.id}~{session.executions}").status(engine)
        if session.state is SessionState.SUSPENDED and session.execution is not None:
            is_asking = await open_approvals(engine, session.execution)
            return Status.APPROVAL if is_asking else None
        return None


@dataclass(frozen=True, slots=True)
class Job(Subject):
    """A flow without a conversation."""

    id: str

    @override
    async def execution(self, engine: Engine) -> str:
        return self.id

    @override
    async def status(self, engine: Engine) -> Status | None:
        state = (await engine.describe(self.id)).state
        if state.is_terminal:
            return Status.ENDED if state is State.COMPLETED else Status.FAILED
        if state is State.SUSPENDED and await open_approvals(engine, self.id):
            return Status.APPROVAL
        return None


class World(Protocol):
    """What runs the flows of a test."""

    @property
    def engine(self) -> Engine:
        """The store, near or far."""
        ...

    @property
    def sets_time(self) -> bool:
        """Whether `advance` works."""
        ...

    async def settle(self, subject: Subject) -> Status:
        """Let a flow run until it has ended, or waits for a message or a person."""
        ...

    async def advance(self, ms: int) -> None:
        """Let time pass, and fire what becomes due."""
        ...


@final
class LiveWorld(World):
    """A real host: workers run elsewhere, and time passes by itself."""

    def __init__(self, engine: Engine, *, patience_s: float = PATIENCE_S) -> None:
        self._engine = engine
        self._patience_s = patience_s

    @property
    @override
    def engine(self) -> Engine:
        return self._engine

    @property
    @override
    def sets_time(self) -> bool:
        return False

    @override
    async def settle(self, subject: Subject) -> Status:
        async with asyncio.timeout(self._patience_s):
            while (status := await subject.status(self._engine)) is None:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
        return status

    @override
    async def advance(self, ms: int) -> None:
        message = "advance: the time of a real host cannot be set"
        raise InvalidInput(message, field="advance")

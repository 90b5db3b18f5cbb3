"""Handles: executions as their submitter sees them, typed by the task's result."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, Generic, TypeVar

from holdfast.api import Engine
from holdfast.errors import WaitpointNotFound
from holdfast.model.executions import Execution, ExecutionId, result_of
from holdfast.model.explanations import Explanation
from holdfast.model.frames import Frame
from holdfast.model.states import State
from holdfast.model.waitpoints import Effect, NewSignal, Source, Waitpoint, WaitpointState
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.encoding import Encoding

_ANY = Encoding("payload", Any)

R_co = TypeVar("R_co", covariant=True)


class Handle(Generic[R_co]):
    """An execution that was submitted."""

    def __init__(
        self,
        engine: Engine,
        execution_id: ExecutionId,
        decode: Callable[[bytes], Any],
        *,
        duplicate: bool = False,
    ) -> None:
        self._engine = engine
        self._decode = decode
        self.id = execution_id
        #: It existed already, by its id or its idempotency key.
        self.duplicate = duplicate

    def __repr__(self) -> str:
        return f"Handle({self.id!r})"

    async def result(self, *, timeout: Duration | None = None) -> R_co:
        """Wait for the result.

        Raises:
            ExecutionFailed: it ended without a result; `context` has state and error.
            ResultNotReady: it did not end in time.
        """
        timeout_ms = optional_ms("timeout", timeout)
        timeout_s = None if timeout_ms is None else timeout_ms / 1000
        outcome = await self._engine.wait(self.id, timeout_s=timeout_s)
        result: R_co = self._decode(result_of(outcome))
        return result

    def stream(self, *, after: int = 0) -> AsyncGenerator[Frame]:
        """Read its stream live, of all attempts in order; the last frame is of type `end`.

        A frame of type `attempt` opens every attempt except the first; the frames of earlier
        attempts may then be repeated. `after` is the id of the last frame already received.
        """
        return self._engine.streams.follow(self.id, after=after)

    async def summary(self) -> dict[str, Any]:
        """Return the document that it keeps up to date with `ctx.stream.summary`."""
        return (await self._engine.streams.summary(self.id)).json()

    async def state(self) -> State:
        """Return its state."""
        return (await self.describe()).state

    async def describe(self) -> Execution:
        """Return the description of the execution."""
        return await self._engine.describe(self.id)

    async def cancel(self, reason: str = "") -> None:
        """Cancel it; its worker learns of this at its next heartbeat."""
        await self._engine.cancel(self.id, reason)

    async def waitpoints(self) -> list[Waitpoint]:
        """Return its waitpoints, in the order they were made."""
        return await self._engine.waitpoints.of(self.id)

    async def signal(
        self,
        waitpoint: str,
        payload: Any = None,
        *,
        name: str = "answer",
        source: Source | None = None,
        idempotency_key: str | None = None,
    ) -> Effect:
        """Answer one of its waitpoints, given by name, as an operator."""
        for point in await self.waitpoints():
            if point.name == waitpoint and point.state is not WaitpointState.CLOSED:
                item = NewSignal(
                    waitpoint=point.id,
                    name=name,
                    payload=_ANY.encode(payload),
                    source=source or Source(),
                    idempotency_key=idempotency_key,
                )
                return await self._engine.waitpoints.signal(item)
        message = f"execution {self.id} does not wait at {waitpoint}"
        raise WaitpointNotFound(message, id=self.id, name=waitpoint)

    async def send(
        self,
        name: str,
        payload: Any = None,
        *,
        source: Source | None = None,
        idempotency_key: str | None = None,
    ) -> Effect:
        """Send a signal to its code, which receives it with `ctx.signals`."""
        return await self._engine.signal(
            self.id,
            name,
            _ANY.encode(payload),
            source=source,
            idempotency_key=idempotency_key,
        )

    async def view(self) -> Any:
        """Return what it shows of itself with `ctx.set_view`; None if it has set no view."""
        return (await self._engine.view(self.id)).value

    async def explain(self) -> Explanation:
        """Say why it is not running."""
        return await self._engine.explain(self.id)

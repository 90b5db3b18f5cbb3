"""The inbox of a running task: signals that others send to the execution itself.

A task that does nothing but wait for a signal returns its lease and its slot, as it does in
`wait_for`; the attempt continues when the signal comes. Beside other steps or tasks it waits in
this process, and lends its slot.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from datetime import datetime
from typing import Any, Protocol, Self, TypeVar

from holdfast.api import Engine
from holdfast.model import bounds
from holdfast.model.executions import Claim
from holdfast.model.inboxes import check_names, decode_received, encode_received
from holdfast.model.moments import from_ms
from holdfast.model.moments import to_ms as moment_ms
from holdfast.model.waitpoints import Signal
from holdfast.tracing import Trace
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.outcomes import AttemptSuspended

R = TypeVar("R")

#: One wait for a signal in this process; the next follows at once.
_WAIT_S = 60.0


class Receiving(Protocol):
    """The parts of a context that receiving needs."""

    @property
    def claim(self) -> Claim:
        """The claim."""
        ...

    @property
    def trace(self) -> Trace:
        """Its spans."""
        ...

    def now(self) -> datetime:
        """Return the time on the store's clock."""
        ...

    def number(self, kind: str) -> str:
        """Return a name for the next unnamed step."""
        ...

    def holding(self) -> contextlib.AbstractContextManager[None]:
        """Make a call as the holder of the lease."""
        ...

    async def flush(self) -> None:
        """Flush buffered frames to the store."""
        ...

    async def wake_time(self, duration_ms: int, name: str | None) -> int:
        """Return when a time is over, recorded at its first start."""
        ...

    async def record(self, name: str, result: bytes) -> bytes:
        """Write a step to the store."""
        ...

    async def fetch(self, name: str, receive: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the recorded result of a step, or make a call that records it."""
        ...

    async def outlast(self, work: Coroutine[Any, Any, R]) -> R:
        """Wait without holding a slot."""
        ...


class Signals:
    """The signals with some names, in the order of their arrival.

    Each is received once, and recorded as a step: a later attempt gets the same ones again.
    """

    def __init__(
        self,
        context: Receiving,
        engine: Engine,
        names: tuple[str, ...],
        timeout: Duration | None,
        is_alone: Callable[[], bool],
    ) -> None:
        self._context = context
        self._engine = engine
        self._names = check_names(names)
        self._timeout = timeout
        self._is_alone = is_alone
        self._kind = "signal:" + (",".join(self._names) or "*")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Signal:
        signal = await self.next_or_none()
        if signal is None:
            raise StopAsyncIteration
        return signal

    async def next_or_none(self) -> Signal | None:
        """Return what the iteration yields next, None at its end."""
        return await self.get(timeout=self._timeout)

    async def get(self, *, timeout: Duration | None = None) -> Signal | None:
        """Wait for the next signal; None if none comes in time. A timeout of 0 does not wait."""
        timeout_ms = optional_ms("timeout", timeout)
        step = _fitting(self._context.number(self._kind))
        until_ms = None
        if timeout_ms:
            until_ms = await self._context.wake_time(timeout_ms, _fitting(f"{step}:until"))
        elif timeout_ms == 0:
            until_ms = 0
        return decode_received(
            await self._context.fetch(step, lambda: self._receive(step, until_ms))
        )

    async def _receive(self, step: str, until_ms: int | None) -> bytes:
        context, claim = self._context, self._context.claim
        await context.flush()
        with context.holding():
            found = await self._engine.receive(claim.id, claim.lease, self._names, step=step)
        while found is None:
            left_s = self._left_s(until_ms)
            if left_s <= 0:
                return await context.record(step, b"null")
            with context.trace.wait(step):
                if self._is_alone():
                    found = await self._release(step, until_ms)
                else:
                    found = await context.outlast(self._wait(step, left_s))
        return encode_received(found)

    def _left_s(self, until_ms: int | None) -> float:
        if until_ms is None:
            return _WAIT_S
        return min(_WAIT_S, (until_ms - moment_ms(self._context.now())) / 1000)

    async def _release(self, step: str, until_ms: int | None) -> Signal:
        """Return the lease until a signal comes, unless one has come in the meantime."""
        context, claim = self._context, self._context.claim
        until = None if until_ms is None else from_ms(until_ms)
        with context.holding():
            found = await self._engine.await_signal(
                claim.id, claim.lease, self._names, step=step, until=until
            )
        if found is None:
            raise AttemptSuspended(f"waits for {step}")
        return found

    async def _wait(self, step: str, timeout_s: float) -> Signal | None:
        claim = self._context.claim
        with self._context.holding():
            return await self._engine.receive(
                claim.id, claim.lease, self._names, step=step, timeout_s=timeout_s
            )


def _fitting(step: str) -> str:
    """Return the name of a step; one that would be too long ends in its digest.

    Shorter ones stay as they are, because journals have them.
    """
    if len(step) <= bounds.STEP_NAME_CHARS:
        return step
    digest = hashlib.blake2b(step.encode(), digest_size=16).hexdigest()
    return f"{step[: bounds.STEP_NAME_CHARS - len(digest) - 1]}~{digest}"


class SyncSignals:
    """Signals for a `def` task, which blocks where Signals awaits."""

    def __init__(self, signals: Signals, block: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._signals = signals
        self._block = block

    def __iter__(self) -> Iterator[Signal]:
        return self

    def __next__(self) -> Signal:
        signal: Signal | None = self._block(self._signals.next_or_none())
        if signal is None:
            raise StopIteration
        return signal

    def get(self, *, timeout: Duration | None = None) -> Signal | None:
        """Wait for the next signal; None if none comes in time. A timeout of 0 does not wait."""
        signal: Signal | None = self._block(self._signals.get(timeout=timeout))
        return signal

"""Effects in SQL that happen exactly once: the step is recorded in the transaction of its effect.

Holdfast records a step after it ran. A process that dies in between runs it again. Here the result
is also a row, committed with the effect: a later attempt finds the row, and does not repeat it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple, overload

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from holdfast.errors import InvalidInput
from holdfast.integrations.sqlalchemy.tables import Effect
from holdfast.worker.context import Context
from holdfast.worker.stepping import result_encoding
from holdfast.worker.sync_context import SyncContext

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


@overload
def transaction(
    ctx: Context,
    session: AsyncSession,
    name: str,
    fn: Callable[[AsyncSession, *Ts], Coroutine[Any, Any, R]],
    *args: *Ts,
) -> Awaitable[R]: ...
@overload
def transaction(
    ctx: SyncContext, session: Session, name: str, fn: Callable[[Session, *Ts], R], *args: *Ts
) -> R: ...
def transaction(  # type: ignore[misc]
    ctx: Any, session: Any, name: str, fn: Callable[..., Any], *args: Any
) -> Any:
    """Run a function in a transaction of its own, once, and record its result as a step.

    The function gets the session and the arguments; it must not commit. What it wrote and the
    record of the step are committed together. If it raises, nothing is committed.
    """
    _check(ctx, session)
    step = _Step(ctx, name, fn)
    if isinstance(session, AsyncSession):

        async def run() -> Any:
            try:
                async with session.begin():
                    found = await session.run_sync(step.find)
                    if found is None:
                        found = step.encode(await fn(session, *args))
                        await session.run_sync(step.keep, found)
                    return step.decode(found)
            except Exception:
                async with session.begin():
                    found = await session.run_sync(step.find)
                if found is None:
                    raise
                return step.decode(found)

        return ctx.step(name, step.hinted(run))

    def run_blocking() -> Any:
        try:
            with session.begin():
                found = step.find(session)
                if found is None:
                    found = step.encode(fn(session, *args))
                    step.keep(session, found)
                return step.decode(found)
        except Exception:
            with session.begin():
                found = step.find(session)
            if found is None:
                raise
            return step.decode(found)

    return ctx.step(name, step.hinted(run_blocking))


class _Step:
    """The row of a step."""

    def __init__(self, ctx: Context | SyncContext, name: str, fn: Callable[..., Any]) -> None:
        self._ctx = ctx
        self._name = name
        self._encoding = result_encoding(fn)
        self._key = hashlib.sha256(ctx.idempotency_key(name).encode()).hexdigest()

    def find(self, session: Session) -> bytes | None:
        """Return the result that an earlier attempt committed, or one that runs at this moment."""
        return session.scalar(select(Effect.result).where(Effect.key == self._key))

    def keep(self, session: Session, result: bytes) -> None:
        """Write the row; it fails if another attempt has committed it meanwhile."""
        # A worker that has lost its lease must not commit.
        self._ctx.check()
        row = {"key": self._key, "execution": self._ctx.id, "step": self._name, "result": result}
        session.execute(insert(Effect).values(row))

    def encode(self, value: Any) -> bytes:
        """Encode a result by the hint of the function."""
        return self._encoding.encode_result(value, self._ctx.claim.kind, self._name)

    def decode(self, result: bytes) -> Any:
        """Return a result as the function returned it."""
        return self._encoding.decode(result)

    def hinted(self, run: Callable[[], Any]) -> Callable[[], Any]:
        """Give a function the result hint of the step, by which it is recorded."""
        run.__annotations__["return"] = self._encoding.hint
        return run


def _check(ctx: object, session: object) -> None:
    """Refuse sessions that do not fit the task, or that are in the middle of something."""
    wanted = AsyncSession if isinstance(ctx, Context) else Session
    if not isinstance(session, wanted):
        message = f"session: must be a {wanted.__name__} in this task, not {type(session).__name__}"
        raise InvalidInput(message, field="session")
    if session.in_transaction():
        message = "session: has a transaction already; commit it before, or use another session"
        raise InvalidInput(message, field="session")

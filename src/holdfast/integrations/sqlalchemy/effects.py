"""Effects in SQL that happen exactly once, through sessions of SQLAlchemy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple, overload

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from holdfast.errors import InvalidInput
from holdfast.integrations.effects import EffectStep
from holdfast.integrations.sqlalchemy.tables import Effect
from holdfast.worker.context import Context
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


class _Step(EffectStep):
    """A step that has a row."""

    def find(self, session: Session) -> bytes | None:
        """Return the result that an earlier attempt committed, or one that runs at this moment."""
        return session.scalar(select(Effect.result).where(Effect.key == self.key))

    def keep(self, session: Session, result: bytes) -> None:
        """Write the row; it fails if another attempt has committed it meanwhile."""
        session.execute(insert(Effect).values(self.row(result)))


def _check(ctx: object, session: object) -> None:
    """Refuse sessions that do not fit the task, or that are in the middle of something."""
    wanted = AsyncSession if isinstance(ctx, Context) else Session
    if not isinstance(session, wanted):
        message = f"session: must be a {wanted.__name__} in this task, not {type(session).__name__}"
        raise InvalidInput(message, field="session")
    if session.in_transaction():
        message = "session: has a transaction already; commit it before, or use another session"
        raise InvalidInput(message, field="session")

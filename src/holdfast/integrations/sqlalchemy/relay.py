"""The relay of an outbox that SQLAlchemy reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

from sqlalchemy import Connection, Engine, delete, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine
from typing_extensions import override

from holdfast.integrations.relaying import BATCH, DEFAULT_EVERY_S, OutboxRelay, relaying
from holdfast.integrations.sqlalchemy.tables import OutboxEntry
from holdfast.worker.app import App

R = TypeVar("R")


class Relay(OutboxRelay):
    """Submits what the outbox of a database holds, while `run` runs. A service of workers."""

    failures: ClassVar[tuple[type[Exception], ...]] = (DBAPIError,)

    def __init__(
        self, app: App, database: Engine | AsyncEngine, *, every_s: float = DEFAULT_EVERY_S
    ) -> None:
        """Make a relay.

        Args:
            app: where to submit; it must be open while the relay runs.
            database: an engine of SQLAlchemy, blocking or async.
            every_s: how often an empty outbox is read.
        """
        super().__init__(app, database.url.database or database.url.drivername, every_s)
        self._database = database

    @override
    async def _waiting(self) -> Sequence[tuple[str, bytes]]:
        return await self._transact(_waiting)

    @override
    async def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        def settle(connection: Connection) -> None:
            connection.execute(delete(OutboxEntry).where(OutboxEntry.id.in_(accepted)))
            for entry_id, problem in refused.items():
                is_it = OutboxEntry.id == entry_id
                connection.execute(update(OutboxEntry).where(is_it).values(refused=problem))

        await self._transact(settle)

    async def _transact(self, work: Callable[[Connection], R]) -> R:
        """Run a short transaction."""
        if isinstance(self._database, AsyncEngine):
            async with self._database.begin() as connection:
                return await connection.run_sync(work)
        return await asyncio.to_thread(self._transact_blocking, self._database, work)

    @staticmethod
    def _transact_blocking(database: Engine, work: Callable[[Connection], R]) -> R:
        with database.begin() as connection:
            return work(connection)


def _waiting(connection: Connection) -> Sequence[tuple[str, bytes]]:
    chosen = (
        select(OutboxEntry.id, OutboxEntry.execution)
        .where(OutboxEntry.refused.is_(None))
        .order_by(OutboxEntry.id)
        .limit(BATCH)
    )
    return [(entry_id, execution) for entry_id, execution in connection.execute(chosen)]


def relay(
    app: App, database: Engine | AsyncEngine, *, every_s: float = DEFAULT_EVERY_S
) -> contextlib.AbstractAsyncContextManager[Relay]:
    """Run a relay in this process while the block runs."""
    return relaying(app, Relay(app, database, every_s=every_s))

"""The relay: takes submissions from the outbox to Holdfast.

It reads entries, submits them, and deletes those that were accepted. A crash in between repeats the
submission, whose id or idempotency key makes it the same one. Any number of relays may run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection, Engine, delete, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from holdfast.errors import (
    HoldfastError,
    InternalError,
    InvalidInput,
    OutcomeUnknown,
    Refused,
    StoreUnavailable,
)
from holdfast.integrations.sqlalchemy.outbox import decode
from holdfast.integrations.sqlalchemy.tables import OutboxEntry
from holdfast.model.executions import NewExecution
from holdfast.outages import level
from holdfast.services import Supervisor
from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)

R = TypeVar("R")

#: How many entries go to Holdfast in one call.
BATCH = 100
DEFAULT_EVERY_S = 0.5
_PAUSE_AFTER_ERROR_S = 1.0
#: The same submission may succeed later. Every other error is final.
_PASSING = (Refused, StoreUnavailable, OutcomeUnknown, InternalError)


class Relay:
    """Submits what the outbox of a database holds, while `run` runs. A service of workers."""

    def __init__(
        self, app: App, database: Engine | AsyncEngine, *, every_s: float = DEFAULT_EVERY_S
    ) -> None:
        """Make a relay.

        Args:
            app: where to submit; it must be open while the relay runs.
            database: an engine of SQLAlchemy, blocking or async.
            every_s: how often an empty outbox is read.
        """
        self._app = app
        self._database = database
        self._every_s = every_s
        url = database.url
        self.name: str = f"outbox:{url.database or url.drivername}"

    async def run(self) -> None:
        """Relay until cancelled."""
        while True:
            try:
                found = await self.move()
                pause_s = 0.0 if found == BATCH else self._every_s
            except HoldfastError as error:
                log.log(level(error), "submitting from the outbox failed: %s", error)
                pause_s = _PAUSE_AFTER_ERROR_S
            except DBAPIError as error:
                log.warning("the database of the outbox failed: %s", error.orig)
                pause_s = _PAUSE_AFTER_ERROR_S
            await asyncio.sleep(pause_s)

    async def flush(self) -> None:
        """Submit everything that is in the outbox now."""
        while await self.move():
            pass

    async def move(self) -> int:
        """Submit up to a hundred entries, oldest first; return how many there were.

        Raises the first error that is not final; entries before and after it were submitted.
        """
        entries = await self._transact(_waiting)
        if not entries:
            return 0
        accepted, refused, passing = [], {}, None
        items, broken = _decoded(entries)
        for entry_id, error in zip(items, await self._submit(list(items.values())), strict=True):
            if error is None:
                accepted.append(entry_id)
            elif isinstance(error, _PASSING):
                passing = passing or error
            else:
                refused[entry_id] = f"{error.code}: {error}"
        await self._settle(accepted, refused | broken)
        if passing is not None:
            raise passing
        return len(entries)

    async def _submit(self, items: Sequence[NewExecution]) -> list[HoldfastError | None]:
        answers = await self._app.engine.submit_many(items) if items else []
        return [answer if isinstance(answer, HoldfastError) else None for answer in answers]

    async def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        """Remove what was accepted, and mark what never will be."""
        for entry_id, problem in refused.items():
            log.error("entry %s of the outbox was refused: %s", entry_id, problem)

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


def _decoded(
    entries: Sequence[tuple[str, bytes]],
) -> tuple[dict[str, NewExecution], dict[str, str]]:
    """Return the submissions, and what is wrong with entries that are none."""
    items, broken = {}, {}
    for entry_id, execution in entries:
        try:
            items[entry_id] = decode(execution)
        except InvalidInput as error:
            broken[entry_id] = f"{error.code}: {error}"
    return items, broken


@contextlib.asynccontextmanager
async def relay(
    app: App, database: Engine | AsyncEngine, *, every_s: float = DEFAULT_EVERY_S
) -> AsyncIterator[Relay]:
    """Run a relay in this process while the block runs."""
    async with app:
        service, supervisor = Relay(app, database, every_s=every_s), Supervisor()
        supervisor.start(service)
        try:
            yield service
        finally:
            await supervisor.close()

"""A shop whose process dies after each commit, and around each submission."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from sqlalchemy import NullPool, create_engine, event, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from typing_extensions import override

from holdfast import App, Context
from holdfast.errors import HoldfastError
from holdfast.integrations.sqlalchemy import Relay, metadata, submit, transaction
from holdfast.model.executions import NewExecution
from tests.acceptance.apps.mortal import happens

app = App()
ADDRESS = os.environ.get("MORTAL_DATABASE", f"sqlite+aiosqlite:///{sys.argv[2]}.db")
database = create_async_engine(ADDRESS)
with create_engine(ADDRESS.replace("+aiosqlite", ""), poolclass=NullPool).begin() as empty:
    metadata.create_all(empty)
    empty.execute(text("create table booked (name text)"))


class MortalRelay(Relay):
    """Dies before the submission, and between it and the removal from the outbox."""

    @override
    async def _submit(self, items: Sequence[NewExecution]) -> list[HoldfastError | None]:
        happens("submit")
        return await super()._submit(items)

    @override
    async def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        happens("settle")
        await super()._settle(accepted, refused)


@app.task
async def ship(name: str) -> str:
    """Ship an order."""
    return name


async def book(session: AsyncSession) -> str:
    """Write an order, and the submission of its shipment, which is not due yet."""
    await session.execute(text("insert into booked values ('a')"))
    return submit(session, ship.options(delay=3_600), "a")


@app.task(name="sqlalchemy")
async def work(ctx: Context) -> str:
    """Book once, and submit the shipment."""
    async with AsyncSession(database) as session:
        event.listen(session.sync_session, "after_commit", lambda _session: happens("checkpoint"))
        shipment = await transaction(ctx, session, "book", book)
    await MortalRelay(app, database).flush()
    assert (await app.engine.describe(shipment)).kind == "ship"
    shipments = [each.count for each in await app.engine.count() if each.kind == "ship"]
    async with database.connect() as connection:
        booked = await connection.scalar(text("select count(*) from booked"))
    return f"booked {booked}, shipped {sum(shipments)}"

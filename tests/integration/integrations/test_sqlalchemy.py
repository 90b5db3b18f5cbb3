"""Submissions and effects in transactions of SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from holdfast import App, Context, SyncContext
from holdfast.errors import ExecutionFailed, InvalidInput
from holdfast.integrations.sqlalchemy import Relay, metadata, relay, submit, transaction
from holdfast.integrations.sqlalchemy.tables import Effect, OutboxEntry
from holdfast.testing import wait_for
from tests.support import postgres


class Base(DeclarativeBase):
    """Tables of a shop."""


class Order(Base):
    """An order."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    """A server, if this machine has one."""
    programs = postgres.folder()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed on this machine")
    with postgres.start(programs) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with empty tables."""
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/shop.db" if is_file else request.getfixturevalue("postgres_url")
    engine = create_engine(url)
    for each in (metadata, Base.metadata):
        each.drop_all(engine)
        each.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
async def asynchronous(database: Engine) -> AsyncIterator[AsyncEngine]:
    """The same database for async sessions."""
    url = database.url.render_as_string(hide_password=False)
    engine = create_async_engine(url.replace("sqlite:", "sqlite+aiosqlite:"))
    yield engine
    await engine.dispose()


def rows(database: Engine, entity: type[Any] = Order) -> int:
    """Count rows."""
    with Session(database) as session:
        return session.scalar(select(func.count()).select_from(entity)) or 0


async def empty(database: Engine) -> None:
    """Wait until the outbox is empty."""

    async def is_empty() -> bool:
        return rows(database, OutboxEntry) == 0

    await wait_for(is_empty)


async def submitted(app: App) -> int:
    """Count executions."""
    return sum(each.count for each in await app.engine.count())


def shop(url: str | None = None) -> tuple[App, Any]:
    """Return an app with a task that ships."""
    app = App(url)

    @app.task
    async def ship(name: str) -> str:
        return f"shipped {name}"

    return app, ship


async def test_a_submission_is_committed_with_the_order(
    url: str, database: Engine, asynchronous: AsyncEngine
) -> None:
    """What was rolled back is not submitted; ids are known before the commit."""
    app, ship = shop(url)
    with Session(database) as session:
        session.add(Order(name="lost"))
        lost = submit(session, ship, "lost")
        session.rollback()
    with Session(database) as session, session.begin():
        session.add(Order(name="a"))
        first = submit(session, ship, name="a")
    async with AsyncSession(asynchronous) as later, later.begin():
        later.add(Order(name="b"))
        second = submit(later, ship.options(tenant="acme"), "b")
        named = submit(later, ship.options(tenant="acme", id="order-c"), "c")
        keyed = submit(later, ship.options(idempotency_key="d"), "d")
    for engine in (database, asynchronous):
        async with app.worker(), relay(app, engine):
            for id, name in ((first, "a"), (second, "b"), (named, "c"), (keyed, "d")):
                await empty(database)
                assert await ship.handle(id).result(timeout=20) == f"shipped {name}"
            assert await submitted(app) == 4
            assert lost not in (first, second, named, keyed)


async def test_relays_may_compete_and_repeat(url: str, database: Engine) -> None:
    """An entry that comes back is the same submission."""
    app, ship = shop(url)
    with Session(database) as session, session.begin():
        for number in range(150):
            submit(session, ship.options(retries=2, tags={"n": "1"}, delay=60), str(number))
        session.flush()
        kept = session.execute(select(OutboxEntry.id, OutboxEntry.execution)).all()
    async with app:
        relays = [Relay(app, database), Relay(app, database)]
        while any([await each.move() for each in relays]):
            await asyncio.gather(*(each.move() for each in relays))
        with database.begin() as connection:
            given = [{"id": id, "execution": execution} for id, execution in kept]
            connection.execute(insert(OutboxEntry), given)
        assert await relays[0].move() == 100
        assert await relays[0].move() == 50
        assert await submitted(app) == 150


async def test_an_entry_that_is_refused_stays_and_lets_others_pass(
    url: str, database: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """It says why, and is tried again when that is cleared."""
    app, ship = shop(url)
    async with app:
        await ship.options(id="one", delay=60).submit("x")
        with Session(database) as session, session.begin():
            submit(session, ship.options(id="one"), "y")
            session.add(OutboxEntry(id="broken", execution=b"{"))
            session.add(OutboxEntry(id="wrong", execution=b'{"kind": "a b"}'))
            good = submit(session, ship.options(delay=60), "z")
        service = Relay(app, database)
        with caplog.at_level(logging.CRITICAL):
            assert await service.move() == 4
            assert await service.move() == 0
        assert (await app.engine.describe(good)).kind == "ship"
        with Session(database) as session, session.begin():
            reasons = session.scalars(select(OutboxEntry.refused).order_by(OutboxEntry.id)).all()
            codes = [(reason or "").partition(":")[0] for reason in reasons]
            assert codes == ["id_conflict", "invalid_input", "invalid_input"]
            session.execute(update(OutboxEntry).values(refused=None))
        with caplog.at_level(logging.CRITICAL):
            assert await service.move() == 3


async def test_a_worker_relays_and_outlasts_its_database(
    url: str, database: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """A missing table is an error of the database, which is logged and may pass."""
    app, ship = shop(url)
    app.serve(Relay(app, database, every_s=0.05))
    metadata.drop_all(database)

    async def is_logged() -> bool:
        return "the database of the outbox failed" in caplog.text

    with caplog.at_level(logging.WARNING):
        async with app.worker():
            await wait_for(is_logged)
            metadata.create_all(database)
            with Session(database) as session, session.begin():
                id = submit(session, ship, "a")
            await empty(database)
            assert await ship.handle(id).result(timeout=20) == "shipped a"


def test_windows_have_no_outbox(database: Engine) -> None:
    """Debounce and throttle choose among submissions; an outbox must not."""
    _, ship = shop()
    with Session(database) as session, pytest.raises(InvalidInput, match="debounce"):
        submit(session, ship.options(debounce=("k", 1)), "x")
    with Session(database) as session, pytest.raises(InvalidInput):
        submit(session, ship, 1, 2, 3)


async def book(session: AsyncSession, name: str) -> tuple[int, str]:
    """Insert an order."""
    order = Order(name=name)
    session.add(order)
    await session.flush()
    return order.id, name


def book_blocking(session: Session, name: str) -> tuple[int, str]:
    """Insert an order from a thread."""
    order = Order(name=name)
    session.add(order)
    session.flush()
    return order.id, name


async def test_an_effect_and_its_step_are_one(
    url: str, database: Engine, asynchronous: AsyncEngine
) -> None:
    """A result comes back as it was; an error leaves nothing; a row stands for its effect."""
    app = App(url)

    @app.task(retries=1)
    async def order(ctx: Context, name: str) -> tuple[int, str]:
        if ctx.attempt == 0:
            vars(ctx)["record"] = dies
        async with AsyncSession(asynchronous) as session:
            return await transaction(ctx, session, "book", book, name)

    async def dies(_name: str, _result: bytes) -> bytes:
        raise ConnectionError

    @app.task
    async def late(ctx: Context) -> str:
        async def faster(session: AsyncSession, result: bytes) -> str:
            """Write, after another attempt has committed."""
            digest = hashlib.sha256(ctx.idempotency_key("book").encode()).hexdigest()
            async with AsyncSession(asynchronous) as other, other.begin():
                other.add(Effect(key=digest, execution=ctx.id, step="book", result=result))
            session.add(Order(name="late"))
            return "late"

        async with AsyncSession(asynchronous) as session:
            return await transaction(ctx, session, "book", faster, b'"faster"')

    @app.task
    def order_blocking(ctx: SyncContext, name: str) -> tuple[int, str]:
        with Session(database) as session:
            return transaction(ctx, session, "book", book_blocking, name)

    @app.task
    async def busy(ctx: Context) -> None:
        async with AsyncSession(asynchronous) as session:
            await session.execute(select(Order.id))
            await transaction(ctx, session, "book", book, "busy")

    @app.task
    async def mixed(ctx: Context) -> None:
        with Session(database) as session:
            await transaction(ctx, session, "book", book, "mixed")  # type: ignore[call-overload]

    async with app.worker():
        handle = await order_blocking.submit("a")
        assert await handle.result(timeout=20) == (1, "a")
        assert rows(database, Effect) == 1
        again = await order_blocking.submit("a")
        with pytest.raises(ExecutionFailed, match=r"(?i)unique"):
            await again.result(timeout=20)
        assert (rows(database), rows(database, Effect)) == (1, 1)
        found = await (await order.submit("b")).result(timeout=20)
        with Session(database) as session:
            assert found == (session.scalar(select(func.max(Order.id))), "b")
        assert (rows(database), rows(database, Effect)) == (2, 2)
        assert await (await late.submit()).result(timeout=20) == "faster"
        assert (rows(database), rows(database, Effect)) == (2, 3)
        for task, problem in ((busy, "has a transaction"), (mixed, "must be a AsyncSession")):
            with pytest.raises(ExecutionFailed, match=problem):
                await (await task.submit()).result(timeout=20)
        assert (rows(database), rows(database, Effect)) == (2, 3)

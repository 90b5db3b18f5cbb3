"""The feed of all nouns: one order, nothing missed, resumable, on one server and on a cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from holdfast.concurrency import stop
from holdfast.engine import Engine
from holdfast.model.deployments import NewDeployment
from holdfast.model.feeds import Gap, Noun, NounChange, StateChange
from holdfast.model.ids import new_id
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.server.samples import claimed, conversing

News = AsyncIterator[StateChange | NounChange | Gap | None]
TENANT = "acme"


@contextlib.asynccontextmanager
async def _following(
    engine: Engine, types: list[Noun], after: str | None = None
) -> AsyncIterator[News]:
    """Follow a feed while the time of the store passes: changes of this moment are not final."""
    clock = Clock(engine.store)

    async def pass_time() -> None:
        while True:
            await clock.advance(1)
            await asyncio.sleep(0.02)

    passing = asyncio.ensure_future(pass_time())
    feed = engine.feeds.follow(TENANT, after, types)
    try:
        async with contextlib.aclosing(feed):  # type: ignore[type-var]
            yield feed
    finally:
        await stop(passing)


async def _take(feed: News, *wanted: tuple[str, str]) -> list[StateChange | NounChange]:
    """Read until each of these was named; return everything that was read."""
    read: list[StateChange | NounChange] = []
    left = set(wanted)
    async with asyncio.timeout(60):
        while left:
            news = await anext(feed)
            assert not isinstance(news, Gap)
            if news is not None:
                read.append(news)
                left.discard((news.type, news.change) if isinstance(news, NounChange) else ("", ""))
    return read


async def _do_all(engine: Engine) -> tuple[str, str]:
    """Change one noun of each type; return the execution and the session."""
    lane = f"lane-{new_id()}"
    made = await engine.submit("ask", tenant=TENANT, lane=lane)
    claim = await claimed(engine, lane)
    asked = [NewWaitpoint(name="ok")]
    await engine.waitpoints.suspend(made.id, claim.lease, asked, {"waitpoint": "ok"})
    await engine.cancel(made.id)
    session, _ = await conversing(engine, TENANT)
    new = NewDeployment(env="local", id="shop", tenant=TENANT, app="talk")
    await engine.deployments.create(new)
    await engine.workers.register("w-1", worker="w", lanes=["default"], tenant=TENANT)
    await engine.workers.drain("w-1")
    await engine.workers.register("w-2", worker="w", lanes=["default"])
    await engine.workers.remove("w-2")
    await engine.queues.define(f"{TENANT}/mail")
    return made.id, session


WANTED = [
    (Noun.WAITPOINT, "created"),
    (Noun.WAITPOINT, "closed"),
    (Noun.SESSION, "changed"),
    (Noun.DEPLOYMENT, "changed"),
    (Noun.WORKER, "created"),
    (Noun.WORKER, "changed"),
    (Noun.WORKER, "removed"),
    (Noun.QUEUE, "created"),
]


async def test_every_noun_is_in_one_order(store: Store) -> None:
    """Each change is named with its id; a reader that returns continues where it was."""
    engine = Engine(store)
    async with _following(engine, list(Noun)) as feed:
        assert await anext(feed) is None
        execution, session = await _do_all(engine)
        read = await _take(feed, *WANTED)
        assert sorted(read, key=lambda news: news.position) == read
        by_type = {news.type: news for news in read if isinstance(news, NounChange)}
        assert by_type[Noun.SESSION].id == session
        assert by_type[Noun.WAITPOINT].execution == execution
        assert (by_type[Noun.DEPLOYMENT].id, by_type[Noun.DEPLOYMENT].env) == ("shop", "local")
        assert by_type[Noun.QUEUE].id == "mail"
        states = [news.state for news in read if isinstance(news, StateChange)]
        assert states[:3] == ["waiting", "active", "suspended"]

        middle = str(read[len(read) // 2].position)
    async with _following(engine, list(Noun), middle) as again:
        assert await anext(again) is None
        rest = read[len(read) // 2 + 1 :]
        async with asyncio.timeout(60):
            assert [await anext(again) for _ in rest] == rest
    await engine.close()


async def test_a_queue_that_changes_while_nobody_reads_is_named_later(store: Store) -> None:
    """The feed remembers what it has said of the queue."""
    engine = Engine(store)
    await engine.queues.define(f"{TENANT}/mail")
    async with _following(engine, [Noun.QUEUE, Noun.WORKER]) as feed:
        assert await anext(feed) is None
        await engine.workers.register("w-1", worker="w", lanes=["default"], tenant=TENANT)
        (seen,) = await _take(feed, (Noun.WORKER, "created"))
    await engine.queues.push(f"{TENANT}/mail", b"1")
    async with _following(engine, [Noun.QUEUE, Noun.WORKER], str(seen.position)) as feed:
        assert await anext(feed) is None
        (news,) = await _take(feed, (Noun.QUEUE, "changed"))
        assert isinstance(news, NounChange)
        assert news.id == "mail"
    await engine.close()


async def test_only_the_types_that_are_asked_for(store: Store, clock: Clock) -> None:
    """Other tenants and other types are left out; a feed that has ended shows as a gap."""
    engine = Engine(store)
    async with _following(engine, [Noun.DEPLOYMENT]) as feed:
        assert await anext(feed) is None
        await engine.workers.register("w-1", worker="w", lanes=["default"], tenant=TENANT)
        for tenant in ("other", TENANT):
            new = NewDeployment(env="local", id=f"of-{tenant}", tenant=tenant, app="talk")
            await engine.deployments.create(new)
        (news,) = await _take(feed, (Noun.DEPLOYMENT, "changed"))
        assert isinstance(news, NounChange)
        assert news.id == f"of-{TENANT}"
    await clock.advance_and_tick(6 * 60_000)
    async with _following(engine, [Noun.DEPLOYMENT], str(news.position)) as feed:
        assert isinstance(await anext(feed), Gap)
    await engine.close()

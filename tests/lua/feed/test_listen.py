"""hf_feed_listen: a feed is kept while somebody listens, and some minutes more."""

from __future__ import annotations

from holdfast.model.executions import NewExecution
from holdfast.model.feeds import Position
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.clock import START_MS, Clock
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import Dump, create_one

NOTHING = Position(0, 0, 0)
MINUTE = 60_000


async def test_a_feed_starts_empty(store: Store) -> None:
    """It was not kept before; asked again, it was."""
    tag = next(iter(store.tags()))
    assert await store.feeds.listen(tag, "acme") == (False, NOTHING, NOTHING)
    assert await store.feeds.listen(tag, "acme") == (True, NOTHING, NOTHING)


async def test_it_tells_the_last_entry(store: Store) -> None:
    """Where a new listener starts."""
    execution_id = await create_one(store, tenant="acme")
    tag = store.tag_of(execution_id)
    await store.feeds.listen(tag, "acme")
    await create_one(store, tenant="acme", id=f"{execution_id}~1")
    kept, last, gone = await store.feeds.listen(tag, "acme")
    assert (kept, last.ms, gone) == (True, START_MS, NOTHING)


async def test_it_ends_five_minutes_after_its_last_listener(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Nothing of it is left, and nothing is written any more."""
    execution_id = await create_one(store, tenant="acme")
    tag = store.tag_of(execution_id)
    await store.feeds.listen(tag, "acme")
    await clock.advance_and_tick(4 * MINUTE)
    await store.feeds.listen(tag, "acme")
    await clock.advance_and_tick(4 * MINUTE)
    await create_one(store, tenant="acme", id=f"{execution_id}~1")
    _, rows = await store.feeds.read(tag, "acme", "-", 10)
    assert len(rows) == 1
    await clock.advance_and_tick(2 * MINUTE)
    await create_one(store, tenant="acme", id=f"{execution_id}~2")
    assert not [key for key in dump() if ":feed" in key]


async def test_it_tells_what_is_gone(store: Store) -> None:
    """Of more than ten thousand entries the oldest are."""
    root = await create_one(store, tenant="acme")
    tag = store.tag_of(root)
    await store.feeds.listen(tag, "acme")
    for start in range(0, 11_000, 500):
        await store.executions.create(
            [
                NewExecution(kind="work", tenant="acme", id=f"{root}~{n}")
                for n in range(start, start + 500)
            ]
        )
    _, _, gone = await store.feeds.listen(tag, "acme")
    assert gone.ms == START_MS
    _, rows = await store.feeds.read(tag, "acme", "-", 20_000)
    assert 10_000 <= len(rows) < 11_000


async def test_listeners_hear_that_there_is_more(store: Store) -> None:
    """On the channel of their tenant."""
    heard: list[str] = []
    execution_id = await create_one(store, tenant="acme")
    tag = store.tag_of(execution_id)
    await store.feeds.listen(tag, "acme")
    channel = channels.feed(tag, "acme")
    await store.subscriptions.add([channel], lambda name, _: heard.append(name))
    await create_one(store, tenant="acme", id=f"{execution_id}~1")

    async def has_heard() -> bool:
        return heard == [channel]

    await wait_for(has_heard)

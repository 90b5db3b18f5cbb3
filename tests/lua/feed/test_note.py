"""hf_feed_note: what a process has seen of nouns outside of the partitions is written once."""

from __future__ import annotations

from holdfast.model.feeds import Noun, NounChange
from holdfast.store.feeds import Source
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump

MINUTE = 60_000


def _source(store: Store, tenant: str = "acme") -> Source:
    (source,) = store.feeds.sources(tenant, {Noun.QUEUE})
    return source


async def _noted(store: Store) -> list[tuple[str, str]]:
    _, rows = await store.feeds.part(_source(store), "-", 100)
    return [(row.id, row.change) for row in rows if isinstance(row, NounChange)]


async def _see(store: Store, *, whole: bool = True, **facts: str) -> int:
    return await store.feeds.note("acme", Noun.QUEUE, facts, whole=whole)


async def test_without_listeners_nothing_is_noted(store: Store, dump: Dump) -> None:
    """Nothing is written either."""
    before = dump()
    assert await _see(store, mail="1") == 0
    assert dump() == before


async def test_what_differs_is_noted_once(store: Store) -> None:
    """The first call only remembers; a repeated one finds nothing new."""
    source = _source(store)
    await store.feeds.listen(source.tag, source.name)
    assert await _see(store, mail="1", fax="0") == 0
    assert await _see(store, mail="2", fax="0") == 1
    assert await _see(store, mail="2", fax="0") == 0
    assert await _see(store, mail="2", fax="0", new="0") == 1
    assert await _see(store, mail="2") == 2
    noted = await _noted(store)
    assert noted[:2] == [("mail", "changed"), ("new", "created")]
    assert sorted(noted[2:]) == [("fax", "removed"), ("new", "removed")]


async def test_a_part_says_nothing_of_the_rest(store: Store) -> None:
    """What was not looked at was not removed."""
    source = _source(store)
    await store.feeds.listen(source.tag, source.name)
    await _see(store, mail="1", fax="0")
    assert await _see(store, mail="1", whole=False) == 0


async def test_all_of_it_ends_with_the_feed(store: Store, clock: Clock, dump: Dump) -> None:
    """Five minutes after the last listener, nothing is left."""
    source = _source(store)
    await store.feeds.listen(source.tag, source.name)
    await _see(store, mail="1")
    await _see(store, mail="2")
    await clock.advance_and_tick(6 * MINUTE)
    assert not [key for key in dump() if ":feed" in key]

"""hf_quota_release."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.limits import admit, make_quota, release, woken


async def test_a_place_goes_to_the_first_who_waits(store: Store) -> None:
    """One place, one wake-up."""
    await make_quota(store, max_concurrent=2)
    for name in ("a", "b", "c", "d", "e"):
        await admit(store, name)
    assert woken(await release(store, "a")) == ["c"]
    found = await store.quotas.get("q")
    assert (found.running, found.promised, found.waiting) == (1, 1, 2)


async def test_one_call_releases_many(store: Store) -> None:
    """Each as far as its epoch is the one that was admitted."""
    await make_quota(store, max_concurrent=9)
    for name in ("a", "b", "c"):
        await admit(store, name, epoch=2)
    items = [(name, epoch, "1", ("q",)) for name, epoch in (("a", "2"), ("b", "1"), ("c", "2"))]
    await store.quotas.release(store.quota_tag("q"), items)
    assert await store.quotas.holders("q", None, 10) == ["b"]


async def test_a_release_counts_once(store: Store, dump: Dump) -> None:
    """Whoever carries it may carry it twice."""
    await make_quota(store, max_concurrent=2)
    for name in ("a", "b"):
        await admit(store, name)
    await release(store, "a")
    before = dump()
    await release(store, "a")
    assert dump() == before
    assert (await store.quotas.get("q")).running == 1


async def test_a_start_that_was_used_stays_in_the_window(store: Store) -> None:
    """A rate counts starts, however short."""
    await make_quota(store, max_per_window=1, window_ms=1_000)
    await admit(store, "a")
    await release(store, "a")
    assert (await store.quotas.get("q")).in_window == 1
    assert not await admit(store, "b")


async def test_a_start_that_was_not_used_leaves_the_window(store: Store) -> None:
    """A grant that came to nothing burns no rate."""
    await make_quota(store, max_per_window=1, window_ms=1_000)
    await admit(store, "a")
    await release(store, "a", used="0")
    assert (await store.quotas.get("q")).in_window == 0
    assert await admit(store, "b")


async def test_one_who_gives_up_waits_no_longer(store: Store) -> None:
    """A cancelled execution is not woken, and holds up nobody."""
    await make_quota(store)
    for name in ("a", "b", "c"):
        await admit(store, name)
    await release(store, "b", used="0")
    assert woken(await release(store, "a")) == ["c"]


async def test_an_old_release_does_not_drop_a_later_wait(store: Store) -> None:
    """It waits since a later grant than the one that is given up."""
    await make_quota(store)
    await admit(store, "a")
    await admit(store, "b", 5)
    await release(store, "b", 4, used="0")
    assert (await store.quotas.get("q")).waiting == 1


async def test_an_old_release_does_not_take_back_a_promise(store: Store) -> None:
    """The room was promised to the wait of a later grant, so the next in line goes on waiting."""
    await make_quota(store)
    await admit(store, "a")
    await admit(store, "b", 2)
    await admit(store, "c")
    await release(store, "a")
    assert woken(await release(store, "b", 1, used="0")) == ["b"]
    assert not await admit(store, "c", 2)
    assert await admit(store, "b", 3)


async def test_releases_sent_again_do_not_take_back_their_promise(store: Store, dump: Dump) -> None:
    """One call gives up an old grant of an execution, and makes room for its later one."""
    await make_quota(store)
    await admit(store, "a")
    await admit(store, "b", 2)
    await admit(store, "c")
    tag = store.quota_tag("q")
    items = [("b", "1", "0", ["q"]), ("a", "1", "1", ["q"])]
    assert woken(await store.quotas.release(tag, items)) == ["b"]
    before = dump()
    assert woken(await store.quotas.release(tag, items)) == ["b"]
    assert dump() == before


async def test_one_who_gives_up_a_promise_passes_it_on(store: Store, dump: Dump) -> None:
    """Cancelled between its wake-up and its next grant: the room goes to the next in line."""
    await make_quota(store)
    for name in ("a", "b", "c"):
        await admit(store, name)
    await release(store, "a")
    assert woken(await release(store, "b", used="0")) == ["b", "c"]
    (waits,) = (value for key, value in dump().items() if ":waits:" in key)
    assert waits == {b"c": b"1"}


async def test_nothing_is_left_of_a_promise_that_was_not_used(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It ends by itself, and so does the memory of the wait before it."""
    await make_quota(store)
    for name in ("a", "b"):
        await admit(store, name)
    await release(store, "a")
    await clock.advance_and_tick(10_001)
    assert not [key for key in dump() if ":promises:" in key or ":waits:" in key]


async def test_a_window_gives_room_by_itself(store: Store, clock: Clock) -> None:
    """The timer of the quota promises as many places as the window has."""
    await make_quota(store, max_per_window=2, window_ms=1_000)
    for name in ("a", "b", "c", "d", "e"):
        await admit(store, name)
    await clock.advance_and_tick(1_000)
    entries = await store.outboxes.read(store.quota_tag("q"))
    assert sorted(woken(entries)) == ["c", "d"]
    assert (await store.quotas.get("q")).waiting == 1


async def test_nothing_is_left_of_a_value_that_is_no_longer_used(store: Store, dump: Dump) -> None:
    """A concurrency key leaves no keys behind."""
    await make_quota(store)
    before = dump()
    for name in ("a", "b"):
        await admit(store, name, quotas=["q#v"])
    await release(store, "a", quotas=["q#v"])
    await admit(store, "b", 2, quotas=["q#v"])
    entries = await release(store, "b", 2, quotas=["q#v"])
    await store.outboxes.clear(store.quota_tag("q"), entries)
    after = {key for key in dump() if ":admit:" not in key and not key.endswith(":meta")}
    assert after == {key for key in before if not key.endswith(":meta")}


async def test_many_are_released_together(store: Store) -> None:
    """Those of an earlier epoch, and of executions that hold nothing, release nothing."""
    await make_quota(store, max_concurrent=3)
    tag = store.quota_tag("q")
    for execution_id, epoch in (("a", 1), ("b", 2), ("c", 1)):
        assert await admit(store, execution_id, epoch)
    assert not await admit(store, "d")
    items = [(one, epoch, "1", ["q"]) for one, epoch in (("a", "1"), ("b", "1"), ("e", "1"))]
    assert woken(await store.quotas.release(tag, items)) == ["d"]
    assert await store.quotas.holders("q", None, 10) == ["b", "c"]


async def test_several_that_ran_are_released_together(store: Store, dump: Dump) -> None:
    """Each once, under the epoch that holds the slot."""
    await make_quota(store, max_concurrent=9)
    for name in ("a", "b"):
        await admit(store, name)
    await admit(store, "c", epoch=2)
    await release(store, "a b c unknown")
    found = await store.quotas.get("q")
    assert (found.running, await store.quotas.holders("q", None, 9)) == (1, ["c"])
    before = dump()
    await release(store, "a b c unknown")
    assert dump() == before


async def test_more_are_released_together_than_one_command_takes(store: Store) -> None:
    """No slot is left."""
    await make_quota(store, max_concurrent=10_000)
    names = [f"e{number}" for number in range(2_500)]
    tag = store.quota_tag("q")
    for first in range(0, len(names), 500):
        items = [(name, 1, ["q"]) for name in names[first : first + 500]]
        assert await store.quotas.admit(tag, f"r{first}", items) == [None] * 500
    await release(store, " ".join(names[1:]))
    assert await store.quotas.holders("q", None, 9) == ["e0"]


async def test_one_that_may_have_run_leaves_its_start(store: Store) -> None:
    """It gives back the slot, and an admission that comes later is void."""
    await make_quota(store, max_per_window=5, window_ms=1_000, max_concurrent=1)
    await admit(store, "a")
    await release(store, "a", used="2")
    found = await store.quotas.get("q")
    assert (found.running, found.in_window) == (0, 1)
    assert not await admit(store, "a")
    assert await admit(store, "b")

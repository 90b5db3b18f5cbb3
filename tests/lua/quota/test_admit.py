"""hf_quota_admit."""

from __future__ import annotations

from holdfast.model.ids import new_id
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.limits import admit, make_quota, release, woken


async def test_no_more_than_the_slots_are_admitted(store: Store) -> None:
    """In one call and over several, alike."""
    await make_quota(store, max_concurrent=3)
    tag = store.quota_tag("q")
    items = [(f"e{n}", 1, ["q"]) for n in range(5)]
    answers = await store.quotas.admit(tag, new_id(), items)
    assert [answer is None for answer in answers] == [True, True, True, False, False]
    assert answers[3] == ("q", None)
    assert not await admit(store, "later")
    assert (await store.quotas.get("q")).running == 3


async def test_each_admission_is_answered_by_two_empty_values(store: Store) -> None:
    """In the first answer, and when the call is repeated."""
    await make_quota(store, max_concurrent=3)
    args = ("hf_quota_admit", store.quota_tag("q"), "r1", "e1", "1", "q", "e2", "1", "q")
    for _ in range(2):
        assert await store.caller.write(*args) == [b""] * 4


async def test_no_more_than_the_window_allows_are_started(store: Store, clock: Clock) -> None:
    """The window slides: each start makes room for one when it leaves."""
    await make_quota(store, max_per_window=2, window_ms=1_000)
    assert await admit(store, "a")
    await clock.advance(400)
    assert await admit(store, "b")
    await release(store, "a")
    tag = store.quota_tag("q")
    (answer,) = await store.quotas.admit(tag, new_id(), [("c", 1, ["q"])])
    assert answer == ("q", clock.now_ms + 600)
    await clock.advance_and_tick(599)
    assert (await store.quotas.get("q")).waiting == 1
    await clock.advance_and_tick(1)
    assert woken(await store.outboxes.read(tag)) == ["c"]
    assert await admit(store, "c", 2)
    assert not await admit(store, "d")


async def test_a_window_of_many_starts_in_one_call_says_when_to_come_again(
    store: Store, clock: Clock
) -> None:
    """Starts of the same call count for those after them."""
    await make_quota(store, max_per_window=2, window_ms=1_000)
    items = [(f"e{n}", 1, ["q"]) for n in range(3)]
    answers = await store.quotas.admit(store.quota_tag("q"), new_id(), items)
    assert answers == [None, None, ("q", clock.now_ms + 1_000)]


async def test_all_quotas_of_a_partition_or_none(single_store: Store) -> None:
    """A quota that would admit keeps its place when another refuses."""
    store = single_store
    await make_quota(store, "wide", max_concurrent=5)
    await make_quota(store, "narrow", max_concurrent=1)
    assert await admit(store, "a", quotas=["wide", "narrow"])
    assert not await admit(store, "b", quotas=["wide", "narrow"])
    assert (await store.quotas.get("wide")).running == 1
    assert (await store.quotas.get("narrow")).waiting == 1


async def test_whoever_comes_later_does_not_overtake(store: Store) -> None:
    """A free place belongs to the first who waits."""
    await make_quota(store)
    await admit(store, "a")
    for name in ("b", "c"):
        assert not await admit(store, name)
    assert woken(await release(store, "a")) == ["b"]
    assert not await admit(store, "late")
    assert not await admit(store, "c", 2)
    assert await admit(store, "b", 2)


async def test_the_same_grant_is_admitted_once(store: Store, dump: Dump) -> None:
    """Asking again for the same epoch is the same admission."""
    await make_quota(store, max_per_window=5, window_ms=1_000, max_concurrent=2)
    await admit(store, "a")
    before = dump()
    assert await admit(store, "a")
    after = dump()
    changed = {key for key in after if ":admit:" not in key and after[key] != before.get(key)}
    assert {key for key in changed if not key.endswith(":meta")} == set()


async def test_a_repeated_call_gets_its_first_answer(store: Store) -> None:
    """Even when the place was given back meanwhile: a late copy admits nobody."""
    await make_quota(store)
    tag, request = store.quota_tag("q"), new_id()
    assert await store.quotas.admit(tag, request, [("a", 1, ["q"])]) == [None]
    await release(store, "a")
    assert await store.quotas.admit(tag, request, [("a", 1, ["q"])]) == [None]
    assert (await store.quotas.get("q")).running == 0


async def test_a_new_grant_takes_over_the_place_of_the_last(store: Store) -> None:
    """An execution runs once, so its earlier admission is over, and its release changes nothing."""
    await make_quota(store)
    await admit(store, "a", 1)
    assert await admit(store, "a", 2)
    assert (await store.quotas.get("q")).running == 1
    await release(store, "a", 1)
    assert (await store.quotas.get("q")).running == 1
    await release(store, "a", 2)
    assert (await store.quotas.get("q")).running == 0


async def test_a_grant_that_is_over_is_not_admitted(store: Store) -> None:
    """An admission that arrives after its grant was given up would leak."""
    await make_quota(store)
    await release(store, "a", 1, used="0")
    assert not await admit(store, "a", 1)
    assert (await store.quotas.get("q")).waiting == 0
    assert await admit(store, "a", 2)


async def test_a_late_admission_does_not_take_the_place_of_a_later_grant(store: Store) -> None:
    """A claim that stood still asks for an epoch that is over."""
    await make_quota(store, max_concurrent=2)
    assert await admit(store, "a", 2)
    assert not await admit(store, "a", 1)
    found = await store.quotas.get("q")
    assert (found.running, found.waiting) == (1, 0)
    await release(store, "a", 1, used="0")
    assert (await store.quotas.get("q")).running == 1


async def test_a_quota_that_is_gone_limits_nothing(store: Store) -> None:
    """Deleting it frees whoever is subject to it."""
    assert await admit(store, "a", quotas=["deleted"])


async def test_a_promise_that_nobody_uses_goes_to_the_next(store: Store, clock: Clock) -> None:
    """Its heir may be on a lane without workers."""
    await make_quota(store)
    await admit(store, "a")
    for name in ("b", "c"):
        await admit(store, name)
    await release(store, "a")
    assert (await store.quotas.get("q")).promised == 1
    await clock.advance_and_tick(9_999)
    assert not await admit(store, "c", 2)
    await clock.advance_and_tick(1)
    assert await admit(store, "c", 3)


async def test_many_that_just_fit_are_admitted_together(store: Store) -> None:
    """Asked again with others, those that hold a slot count once."""
    await make_quota(store, max_concurrent=4)
    tag = store.quota_tag("q")
    three = [(f"e{n}", 1, ["q"]) for n in range(3)]
    assert await store.quotas.admit(tag, new_id(), three) == [None] * 3
    five = [(f"e{n}", 1, ["q"]) for n in range(5)]
    answers = await store.quotas.admit(tag, new_id(), five)
    assert answers == [None] * 4 + [("q", None)]
    found = await store.quotas.get("q")
    assert (found.running, found.waiting) == (4, 1)


async def test_one_whose_grant_is_over_is_refused_among_others(store: Store) -> None:
    """It must not wait, and learns so; the others are admitted."""
    await make_quota(store, max_concurrent=4)
    await release(store, "b", used="0")
    items = [(name, 1, ["q"]) for name in "abc"]
    answers = await store.quotas.admit(store.quota_tag("q"), new_id(), items)
    assert answers == [None, ("q", 0), None]
    assert sorted(await store.quotas.holders("q", None, 10)) == ["a", "c"]


async def test_one_that_was_refused_stays_refused_under_its_epoch(store: Store, dump: Dump) -> None:
    """Two processes that ask for one lease get the same answer, also when room was made between."""
    await make_quota(store)
    assert await admit(store, "a")
    assert not await admit(store, "b")
    assert woken(await release(store, "a")) == ["b"]
    before = dump()
    assert not await admit(store, "b")
    after = dump()
    assert {key: value for key, value in after.items() if ":admit:" not in key} == {
        key: value for key, value in before.items() if ":admit:" not in key
    }
    assert await admit(store, "b", epoch=2)

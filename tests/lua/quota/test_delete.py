"""hf_quota_delete."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.limits import admit, make_quota, release, woken


async def test_whoever_waits_is_told(store: Store) -> None:
    """Under the quota itself and under each value of a tag."""
    await make_quota(store)
    for name in ("a", "b", "c"):
        await admit(store, name)
    for name in ("x", "y"):
        await admit(store, name, quotas=["q#v"])
    assert await store.quotas.delete("q") is True
    assert set(woken(await store.outboxes.read(store.quota_tag("q")))) == {"b", "c", "y"}
    assert await admit(store, "d")


async def test_a_queue_of_any_length_is_told(store: Store) -> None:
    """One call tells a thousand; the call is repeated while more remain."""
    await make_quota(store, max_concurrent=0)
    tag = store.quota_tag("q")
    for start in range(0, 1_500, 500):
        items = [(f"e{n}", 1, ["q"]) for n in range(start, start + 500)]
        await store.quotas.admit(tag, f"r{start}", items)
    await store.quotas.delete("q")
    told = 0
    while entries := await store.outboxes.read(tag):
        told += len(entries)
        await store.outboxes.clear(tag, entries)
    assert told == 1_500


async def test_it_is_gone_from_the_list_and_may_be_made_anew(store: Store) -> None:
    """What ran under the old one does not count against the new one for ever."""
    await make_quota(store)
    await admit(store, "a")
    await store.quotas.delete("q")
    assert await store.quotas.list_quotas(None, 10, None) == ([], None)
    await make_quota(store)
    await release(store, "a")
    assert await admit(store, "b")


async def test_deleting_twice_is_no_error_of_the_store(store: Store) -> None:
    """The second call says that there was none."""
    await make_quota(store)
    assert await store.quotas.delete("q") is True
    assert await store.quotas.delete("q") is False


async def test_promises_of_different_ends_leave_nothing(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The timer rings for the first one; then no other is ever looked at."""
    before = set(dump())
    await make_quota(store, max_concurrent=2)
    for name in ("a", "b", "c", "d"):
        await admit(store, name)
    await release(store, "a")
    await clock.advance(5_000)
    await release(store, "b")
    await store.quotas.delete("q")
    tag = store.quota_tag("q")
    await store.outboxes.clear(tag, await store.outboxes.read(tag))
    for _ in range(4):
        await clock.advance_and_tick(6_000)
    left = set(dump()) - before
    assert not {key for key in left if ":promises:" in str(key) or ":waits:" in str(key)}

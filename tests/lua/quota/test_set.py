"""hf_quota_set."""

from __future__ import annotations

from holdfast.errors import QuotaNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, refused
from tests.support.limits import admit, make_quota, woken


async def test_more_slots_serve_those_who_wait(store: Store) -> None:
    """In their order, as many as there is room for; of each value of a tag by itself."""
    await make_quota(store)
    for name in ("a", "b", "c", "d"):
        await admit(store, name)
    for name in ("x", "y"):
        await admit(store, name, quotas=["q#v"])
    await store.quotas.set("q", None, None, 3)
    entries = await store.outboxes.read(store.quota_tag("q"))
    assert set(woken(entries)) == {"b", "c", "y"}


async def test_fewer_slots_take_nobodys_place(store: Store) -> None:
    """What runs goes on; nobody is admitted until there is room."""
    await make_quota(store, max_concurrent=3)
    for name in ("a", "b", "c"):
        await admit(store, name)
    await store.quotas.set("q", None, None, 1)
    found = await store.quotas.get("q")
    assert (found.running, found.max_concurrent) == (3, 1)
    assert not await admit(store, "d")


async def test_limits_are_replaced(store: Store) -> None:
    """What is not given is no limit any more."""
    await make_quota(store)
    await store.quotas.set("q", 1_000, 5, None)
    found = await store.quotas.get("q")
    assert (found.window_ms, found.max_per_window, found.max_concurrent) == (1_000, 5, None)


async def test_an_unknown_quota_is_refused(store: Store, dump: Dump) -> None:
    """It is not created by the way."""
    await refused(store.quotas.set("none", None, None, 1), QuotaNotFound, dump, id="none")


async def test_starts_are_kept_as_long_as_a_longer_window(store: Store) -> None:
    """Those that were made before the change count in it, though no other start follows."""
    await make_quota(store, max_per_window=2, window_ms=1_000)
    await admit(store, "a")
    await store.quotas.set("q", 3_600_000, 2, None)
    left_ms = await store.client.call(["PTTL", f"{store.quota_tag('q')}:admissions:q"])
    assert left_ms > 3_600_000


async def test_starts_of_a_value_for_which_some_wait_are_kept_as_long(store: Store) -> None:
    """Nobody has to ask for it again."""
    await make_quota(store, max_per_window=1, window_ms=1_000)
    assert await admit(store, "a", quotas=["q#v"])
    assert not await admit(store, "b", quotas=["q#v"])
    await store.quotas.set("q", 3_600_000, 1, None)
    left_ms = await store.client.call(["PTTL", f"{store.quota_tag('q')}:admissions:q#v"])
    assert left_ms > 3_600_000


async def test_starts_of_a_value_are_kept_by_a_refusal_in_a_longer_window(store: Store) -> None:
    """Nobody waited for the value when the window changed; who asks later finds its starts."""
    await make_quota(store, max_per_window=1, window_ms=1_000)
    assert await admit(store, "a", quotas=["q#v"])
    await store.quotas.set("q", 3_600_000, 1, None)
    assert not await admit(store, "b", quotas=["q#v"])
    left_ms = await store.client.call(["PTTL", f"{store.quota_tag('q')}:admissions:q#v"])
    assert left_ms > 3_600_000


async def test_starts_of_a_value_in_line_are_kept_at_once(store: Store) -> None:
    """Those of a quiet value are forgotten a minute after the old window, as documented."""
    await make_quota(store, max_per_window=1, window_ms=1_000)
    for name in ("a", "b"):
        await admit(store, name, quotas=["q#v"])
    assert await admit(store, "c", quotas=["q#quiet"])
    await store.quotas.set("q", 3_600_000, 1, None)
    key = f"{store.quota_tag('q')}:admissions:q#"
    assert await store.client.call(["PTTL", f"{key}v"]) > 3_600_000
    assert 50_000 < await store.client.call(["PTTL", f"{key}quiet"]) <= 61_000


async def test_starts_that_have_left_the_old_window_are_forgotten_by_who_asks(
    store: Store, clock: Clock
) -> None:
    """Without a question since, they count again."""
    await make_quota(store, max_per_window=1, window_ms=1_000)
    for name in ("seen", "unseen"):
        assert await admit(store, name, quotas=[f"q#{name}"])
    await clock.advance(2_000)
    assert await admit(store, "b", quotas=["q#seen"])
    await store.quotas.set("q", 3_600_000, 2, None)
    assert (await store.quotas.get("q", "seen")).in_window == 1
    assert (await store.quotas.get("q", "unseen")).in_window == 1

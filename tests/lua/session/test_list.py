"""hf_session_list."""

from __future__ import annotations

from typing import Any

from holdfast.model.moments import to_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump
from tests.support.sessions import deliver, key_of


async def users(store: Store, **wanted: Any) -> list[str]:
    """The users of a page of sessions."""
    defaults = {"tenant": None, "user": None, "before": None, "limit": 10}
    return [found.key.user for found in await store.sessions.page(**{**defaults, **wanted})]


async def test_the_most_recently_active_first(store: Store, clock: Clock) -> None:
    """Any entry counts."""
    assert await users(store) == []
    for user in "abc":
        await clock.advance(1)
        await deliver(store, user=user)
    assert await users(store) == ["c", "b", "a"]
    await clock.advance(1)
    await store.sessions.say(key_of("a").id, "k", "eve", b"{}")
    assert await users(store) == ["a", "c", "b"]


async def test_of_a_tenant_or_a_user(store: Store) -> None:
    """A tenant sees its own."""
    await deliver(store, user="ann")
    await deliver(store, user="ann", tenant="acme")
    await deliver(store, user="bob", tenant="acme")
    assert sorted(await users(store, tenant="acme")) == ["ann", "bob"]
    assert await users(store, user="ann") == ["ann", "ann"]
    assert await users(store, tenant="acme", user="bob") == ["bob"]
    assert await users(store, tenant="nobody") == []


async def test_the_sessions_of_a_user_are_found_among_many(store: Store, clock: Clock) -> None:
    """However many others were active since, all of them, page by page."""
    for number in range(3):
        await deliver(store, user="ann", conversation=f"c{number}")
        await clock.advance(1)
    later = clock.now_ms + 1_000
    places = [part for n in range(10_100) for part in (str(later + n), f"s{n:024}")]
    for tag in store.tags():
        await store.client.call(["ZADD", f"{tag}:sessions:default", *places])
    first = await store.sessions.page(tenant="default", user="ann", before=None, limit=2)
    place = (to_ms(first[-1].active_at), first[-1].id)
    rest = await store.sessions.page(tenant="default", user="ann", before=place, limit=2)
    assert [found.key.conversation for found in (*first, *rest)] == ["c2", "c1", "c0"]


async def test_page_by_page(store: Store, clock: Clock) -> None:
    """Those of the same moment are neither lost nor repeated."""
    names = [f"u{n}" for n in range(25)]
    for n, user in enumerate(names):
        await deliver(store, user=user)
        if n % 7 == 0:
            await clock.advance(1)
    seen: list[str] = []
    before = None
    while page := await store.sessions.page(tenant=None, user=None, before=before, limit=4):
        seen += [found.key.user for found in page]
        before = (to_ms(page[-1].active_at), page[-1].id)
    assert sorted(seen) == sorted(names)


async def test_erased_sessions_are_not_listed(store: Store, clock: Clock, dump: Dump) -> None:
    """Nor their tenants and users."""
    made = [await deliver(store, conversation=f"c{number}") for number in range(3)]
    for left in (2, 1, 0):
        await store.sessions.erase(made[left].session)
        assert await users(store) == await users(store, user="ann") == ["ann"] * left
        assert violations(dump(), clock.now_ms) == []

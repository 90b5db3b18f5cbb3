"""hf_revision_prospects."""

from __future__ import annotations

from holdfast.model.forecasts import Prospects
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.revision.test_close import begin
from tests.support import sessions
from tests.support.lifecycle import claim_one, create_one

_MINUTE_MS = 60_000


async def prospects(store: Store) -> Prospects:
    """Return what foretells the end of the needs of a revision."""
    _, found = await store.needs.prospects("default", "blue")
    return found


async def test_the_ends_of_waits_are_known_if_they_have_one(store: Store, clock: Clock) -> None:
    """Over all partitions; one that waits for as long as it takes has no end."""
    assert await store.needs.prospects("default", "blue") == (clock.now, Prospects())
    begun = clock.now_ms
    for user, timeout_ms in (("ann", 5_000), ("bob", 9_000), ("cat", None)):
        claim = await begin(store, user=user)
        await sessions.turn(store, claim, "which?", wait="receive:1", timeout_ms=timeout_ms)
    await begin(store, user="dan")
    assert await prospects(store) == Prospects(
        running=1, waiting=3, timed=2, last=from_ms(begun + 9_000)
    )


async def test_what_stopped_needing_it_is_counted_by_the_minute(store: Store, clock: Clock) -> None:
    """Once each, in every way to end; a repeated call counts nothing."""
    first = clock.now_ms // _MINUTE_MS
    ended, cancelled, later = [await create_one(store, requires=("rev:blue",)) for _ in range(3)]
    claim = await claim_one(store, ended, capabilities=["rev:blue"])
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.cancel(cancelled, "")
    await clock.advance(2 * _MINUTE_MS)
    await store.executions.cancel(later, "")
    assert await prospects(store) == Prospects(left={first: 2, first + 2: 1})
    await clock.advance(59 * _MINUTE_MS)
    assert (await prospects(store)).left == {first + 2: 1}


async def test_a_count_is_kept_for_an_hour(store: Store, clock: Clock) -> None:
    """Earlier minutes go with the next one that is counted."""
    for _ in range(3):
        await store.executions.cancel(await create_one(store, requires=("rev:blue",)), "")
        await clock.advance(45 * _MINUTE_MS)
    names = [f"{tag}:revleft:default|blue" for tag in store.tags()]
    lasting = [await store.client.call(["PTTL", name]) for name in names]
    assert any(ms > 0 for ms in lasting)
    assert -1 not in lasting
    assert sum((await prospects(store)).left.values()) == 1

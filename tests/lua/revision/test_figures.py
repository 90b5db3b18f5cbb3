"""hf_revision_figures."""

from __future__ import annotations

from datetime import datetime, timedelta

from holdfast.model.executions import Failure
from holdfast.model.figures import Histogram
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.lua.revision.test_close import begin
from tests.support import sessions
from tests.support.lifecycle import claim_one, create_one


async def counts(store: Store, since: datetime, revision: str = "blue") -> Histogram:
    """Return what was counted on a revision."""
    (found,) = await store.deployments.turns("default", [revision], since)
    return found


async def test_a_turn_lasts_until_its_execution_waits_or_ends(store: Store, clock: Clock) -> None:
    """From the message that began it; the time between two turns does not count."""
    begun = clock.now
    claim = await begin(store)
    await clock.advance(100)
    await sessions.turn(store, claim, "which?", wait="receive:1")
    assert (await counts(store, begun)).percentile_ms(100) == 108
    await clock.advance(5_000)
    await sessions.deliver(store, "this")
    again = await claim_one(store, claim.id, capabilities=["rev:blue"])
    await clock.advance(7)
    await store.executions.complete(again.id, again.lease, b"1")
    found = await counts(store, begun)
    assert (found.turns, found.failed) == (2, 0)
    assert (found.percentile_ms(50), found.percentile_ms(100)) == (8, 108)
    assert await counts(store, begun, "green") == Histogram()


async def test_failures_and_deadlines_fail_a_turn(store: Store, clock: Clock) -> None:
    """A turn that is cancelled does not count; one that is retried ends once."""
    begun = clock.now
    failing, cancelled, expiring = [
        await create_one(store, requires=("rev:blue",), deadline_ms=deadline)
        for deadline in (None, None, 1_000)
    ]
    claim = await claim_one(store, failing, capabilities=["rev:blue"])
    await store.executions.fail(claim.id, claim.lease, Failure(type="E", message="bad"))
    await store.executions.cancel(cancelled, "")
    await clock.advance_and_tick(2_000)
    assert expiring
    found = await counts(store, begun)
    assert (found.turns, found.failed) == (2, 2)


async def test_a_buffered_message_begins_a_turn(store: Store, clock: Clock) -> None:
    """Although its execution never stops running."""
    begun = clock.now
    claim = await begin(store)
    await sessions.deliver(store, "more")
    await clock.advance(50)
    await sessions.turn(store, claim, "which?", wait="receive:1")
    await clock.advance(50)
    await sessions.turn(store, claim, "and?", wait="receive:2")
    found = await counts(store, begun)
    assert (found.turns, found.percentile_ms(100)) == (2, 54)


async def test_a_window_has_its_intervals_only(store: Store, clock: Clock) -> None:
    """Of 10 s each, those in which it begins and ends included, at most an hour back."""
    begun = clock.now
    for _ in range(3):
        claim = await claim_one(
            store, await create_one(store, requires=("rev:blue",)), capabilities=["rev:blue"]
        )
        await store.executions.complete(claim.id, claim.lease, b"1")
        await clock.advance(10_000)
    assert (await counts(store, begun)).turns == 3
    assert (await counts(store, begun + timedelta(seconds=9))).turns == 3
    assert (await counts(store, begun + timedelta(seconds=10))).turns == 2
    await clock.advance(3_600_000 - 20_000)
    assert (await counts(store, begun)).turns == 2


async def test_executions_without_a_revision_are_not_counted(store: Store) -> None:
    """They write nothing."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.complete(claim.id, claim.lease, b"1")
    names = await store.client.call(["KEYS", f"{store.prefix}*revfigures*"])
    assert not names

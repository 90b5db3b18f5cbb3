"""hf_waitpoint_read."""

from __future__ import annotations

from holdfast.errors import InvalidToken, TokenExpired
from holdfast.model.moments import to_ms
from holdfast.store.store import Store
from holdfast.store.waitpoints import Sender
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, create_one, refused
from tests.support.waits import prepare_one, run_one, send, suspend_one


async def test_whoever_has_the_token_reads_it(store: Store, dump: Dump) -> None:
    """Prepared, and closed, too; nothing is written."""
    claim = await run_one(store)
    point = await prepare_one(store, claim, title="How much?", schema={"type": "integer"})
    token = Sender(made_ms=to_ms(point.created_at))
    before = dump()
    assert await store.waitpoints.read(claim.id, 1, token) == point
    assert dump() == before
    await store.waitpoints.revoke(claim.id, 1)
    assert (await store.waitpoints.read(claim.id, 1, token)).why == "revoked"


async def test_an_answered_one_says_so(store: Store) -> None:
    """The page that shows it need not ask for more."""
    claim, (point,) = await suspend_one(store)
    await send(store, point)
    found = await store.waitpoints.read(claim.id, 1, Sender(made_ms=to_ms(point.created_at)))
    assert (found.state, found.why) == ("closed", "resumed")


async def test_a_token_that_is_not_good_here(store: Store, clock: Clock, dump: Dump) -> None:
    """Of another time, of what is not there, and past the grace of its key, to the millisecond."""
    claim, (point,) = await suspend_one(store)
    made = to_ms(point.created_at)
    for execution_id, number, sender in (
        (claim.id, 1, Sender(made_ms=made - 1)),
        (claim.id, 2, Sender(made_ms=made)),
        (await create_one(store), 1, Sender(made_ms=made)),
        ("nobody", 1, Sender(made_ms=made)),
    ):
        await refused(store.waitpoints.read(execution_id, number, sender), InvalidToken, dump)
    sender = Sender(made_ms=made, grace_until_ms=clock.now_ms + 10)
    await clock.advance(9)
    assert await store.waitpoints.read(claim.id, 1, sender) == point
    await clock.advance(1)
    await refused(store.waitpoints.read(claim.id, 1, sender), TokenExpired, dump)

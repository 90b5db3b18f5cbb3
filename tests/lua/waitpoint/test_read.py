"""hf_waitpoint_read."""

from __future__ import annotations

from holdfast.errors import InvalidToken, TokenExpired
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.waitpoints import NewWaitpoint, parse_waitpoint_id
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


async def test_it_says_until_when_and_how_many_have_answered(store: Store, clock: Clock) -> None:
    """The timeout of the wait counts, as it does in the inbox and in the list."""
    condition = {"count": 2, "distinct": "sources", "of": [{"waitpoint": "gate"}]}
    gate = NewWaitpoint(name="gate", expires_ms=90_000)
    claim, (point,) = await suspend_one(store, gate, condition=condition, timeout_ms=60_000)
    for by in ("ann", "ann"):
        await send(store, point, by=by)
    token = Sender(made_ms=to_ms(point.created_at))
    found = await store.waitpoints.read(claim.id, 1, token)
    assert found.until == from_ms(clock.now_ms + 60_000)
    assert found.expires_at == from_ms(clock.now_ms + 90_000)
    assert (found.wanted, found.came) == (2, ("ann",))
    ((_, item),) = await store.waitpoints.inbox(None, 0, 10)
    ((listed,), _) = await store.waitpoints.of(claim.id)
    assert item.waitpoint == listed == found


async def test_one_that_expires_before_its_wait_ends_says_so(store: Store, clock: Clock) -> None:
    """What comes first counts; without either it is open for ever."""
    for expires_ms, timeout_ms, left in ((9, 60_000, 9), (None, 5, 5), (7, None, 7)):
        gate = NewWaitpoint(name="gate", expires_ms=expires_ms)
        _, (point,) = await suspend_one(store, gate, timeout_ms=timeout_ms)
        execution_id, number = parse_waitpoint_id("id", point.id)
        token = Sender(made_ms=to_ms(point.created_at))
        found = await store.waitpoints.read(execution_id, number, token)
        assert found.until == from_ms(clock.now_ms + left)
    claim, (point,) = await suspend_one(store)
    token = Sender(made_ms=to_ms(point.created_at))
    assert (await store.waitpoints.read(claim.id, 1, token)).until is None

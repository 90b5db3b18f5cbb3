"""The contract of pins, in memory and on Valkey."""

from __future__ import annotations

import asyncio

from holdfast.model.pins import Existing, Finding, Inserted, Pin, PinRules, Skipped
from tests.support.pinning import R1, R2, RULES, TTL_MS, PinWorld, key, roster


async def test_the_first_pin_is_inserted_and_the_next_caller_finds_it(world: PinWorld) -> None:
    """The second caller gets the stored revision, never its own."""
    pins = world.router()
    assert await pins.try_pin(key(), "r1", roster(1)) == Inserted(R1)
    assert await pins.try_pin(key(), "r2", roster(1)) == Existing(R1)
    assert await pins.lookup(key(), roster(1)) == R1


async def test_a_session_without_a_pin_has_none(world: PinWorld) -> None:
    """A look-up writes nothing."""
    assert await world.router().lookup(key(), roster(1)) is None


async def test_a_reweighting_keeps_the_pin(world: PinWorld) -> None:
    """The revision has taken new sessions ever since, under whatever weights."""
    pins = world.router()
    await pins.try_pin(key(), "r1", roster(1))
    for generation in (2, 3, 50):
        assert await pins.lookup(key(), roster(generation)) == R1
        assert await pins.try_pin(key(), "r2", roster(generation)) == Existing(R1)


async def test_a_pin_ends_when_its_revision_leaves_the_split(world: PinWorld) -> None:
    """It is removed, so a router of the earlier split does not find it either."""
    pins = world.router()
    await pins.try_pin(key(), "r1", roster(1))
    assert await pins.lookup(key(), roster(2, {"r2": 2})) is None
    assert await pins.lookup(key(), roster(1)) is None


async def test_a_revision_that_left_and_came_back_revives_no_pin(world: PinWorld) -> None:
    """Nobody may have looked while it was gone."""
    pins = world.router()
    await pins.try_pin(key(), "r1", roster(1))
    back = roster(3, {"r1": 3, "r2": 2})
    assert await pins.try_pin(key(), "r2", back) == Inserted(Pin("r2", 3))
    assert await pins.lookup(key(), back) == Pin("r2", 3)


async def test_a_stale_pin_is_replaced_by_one_that_is_kept(world: PinWorld) -> None:
    """Removal and insertion are one step."""
    pins = world.router()
    await pins.try_pin(key(), "r1", roster(1))
    moved = roster(2, {"r2": 2})
    assert await pins.try_pin(key(), "r2", moved) == Inserted(Pin("r2", 2))
    assert await pins.lookup(key(), moved) == Pin("r2", 2)


async def test_a_pin_expires_to_the_millisecond(world: PinWorld) -> None:
    """Also one that lives for less than a second."""
    pins = world.router(PinRules(ttl_ms=250))
    await pins.try_pin(key(), "r1", roster(1))
    await world.advance(249)
    assert await pins.lookup(key(), roster(1), peek=True) == R1
    await world.advance(1)
    assert await pins.lookup(key(), roster(1), peek=True) is None
    assert await pins.try_pin(key(), "r2", roster(1)) == Inserted(R2)


async def test_a_busy_session_keeps_its_pin(world: PinWorld) -> None:
    """Both calls renew it."""
    pins = world.router()
    await pins.try_pin(key(), "r1", roster(1))
    for _ in range(3):
        await world.advance(TTL_MS - 1)
        assert await pins.lookup(key(), roster(1)) == R1
        await world.advance(TTL_MS - 1)
        assert await pins.try_pin(key(), "r2", roster(1)) == Existing(R1)
    await world.advance(TTL_MS)
    assert await pins.lookup(key(), roster(1)) is None


async def test_a_renewed_pin_keeps_its_own_ttl(world: PinWorld) -> None:
    """A router with other rules does not change it."""
    await world.router(PinRules(ttl_ms=1_000)).try_pin(key(), "r1", roster(1))
    patient = world.router(PinRules(ttl_ms=100_000))
    await world.advance(900)
    assert await patient.lookup(key(), roster(1)) == R1
    await world.advance(1_000)
    assert await patient.lookup(key(), roster(1)) is None


async def test_an_older_router_neither_removes_nor_replaces_a_newer_pin(world: PinWorld) -> None:
    """Nor does it renew it; the newer router still finds it."""
    newer, older = world.router(), world.router()
    now, past = roster(5, {"r2": 5}), roster(4, {"r1": 1})
    await newer.try_pin(key(), "r2", now)
    assert await older.lookup(key(), past) == Pin("r2", 5)
    assert await older.try_pin(key(), "r1", past) == Existing(Pin("r2", 5))
    assert await newer.lookup(key(), now) == Pin("r2", 5)
    await world.advance(TTL_MS - 1)
    assert await older.lookup(key(), past) == Pin("r2", 5)
    await world.advance(1)
    assert await newer.lookup(key(), now) is None


async def test_what_an_older_router_pinned_is_judged_by_the_newer_one(world: PinWorld) -> None:
    """A pin to a revision that has left does not hold, whenever it was written."""
    newer, older = world.router(), world.router()
    await older.try_pin(key("gone"), "r1", roster(4, {"r1": 1, "r2": 1}))
    await older.try_pin(key("stays"), "r2", roster(4, {"r1": 1, "r2": 1}))
    now = roster(5, {"r2": 1})
    assert await newer.lookup(key("gone"), now) is None
    assert await newer.lookup(key("stays"), now) == Pin("r2", 4)


async def test_only_live_pins_count_towards_the_cap(world: PinWorld) -> None:
    """Sessions come and go for ever; the cap is never used up by dead pins."""
    pins = world.router(PinRules(ttl_ms=1_000, cap=4))
    for n in range(12):
        assert isinstance(await pins.try_pin(key(f"s{n}"), "r1", roster(1)), Inserted)
        await world.advance(250)
        assert await world.live(key()) <= 4


async def test_a_short_pin_does_not_hide_long_ones_from_the_cap(world: PinWorld) -> None:
    """The count follows each pin, not the last one written."""
    long, short = PinRules(ttl_ms=60_000, cap=2), PinRules(ttl_ms=10, cap=2)
    await world.router(long).try_pin(key("a"), "r1", roster(1))
    await world.router(short).try_pin(key("b"), "r1", roster(1))
    await world.advance(10)
    assert isinstance(await world.router(long).try_pin(key("c"), "r1", roster(1)), Inserted)
    assert isinstance(await world.router(long).try_pin(key("d"), "r1", roster(1)), Skipped)


async def test_at_the_cap_a_new_session_is_not_pinned(world: PinWorld) -> None:
    """The caller uses its own revision, sees that nothing was kept, and others keep their pins."""
    pins = world.router(PinRules(ttl_ms=TTL_MS, cap=2))
    for session in ("a", "b"):
        await pins.try_pin(key(session), "r1", roster(1))
    assert await pins.try_pin(key("c"), "r2", roster(1)) == Skipped(R2)
    assert await pins.lookup(key("c"), roster(1)) is None
    assert await pins.try_pin(key("a"), "r2", roster(1)) == Existing(R1)
    assert pins.counts[Finding.REFUSED] == 1


async def test_at_the_cap_a_stale_pin_can_still_be_replaced(world: PinWorld) -> None:
    """A replacement adds no pin."""
    pins = world.router(PinRules(ttl_ms=TTL_MS, cap=1))
    await pins.try_pin(key(), "r1", roster(1))
    moved = roster(2, {"r2": 2})
    assert await pins.try_pin(key(), "r2", moved) == Inserted(Pin("r2", 2))
    assert await world.live(key()) == 1


async def test_with_eviction_the_soonest_to_expire_makes_room(world: PinWorld) -> None:
    """A renewed pin is not the soonest any more."""
    pins = world.router(PinRules(ttl_ms=TTL_MS, cap=3, evict=True))
    for session in ("a", "b", "c"):
        await pins.try_pin(key(session), "r1", roster(1))
        await world.advance(10_000)
    assert await pins.lookup(key("a"), roster(1)) == R1
    assert await pins.try_pin(key("d"), "r1", roster(1)) == Inserted(R1)
    kept = [s for s in "abcd" if await pins.lookup(key(s), roster(1), peek=True)]
    assert kept == ["a", "c", "d"]


async def test_rotating_sessions_stay_within_the_cap(world: PinWorld) -> None:
    """A client with a new session for each message uses no more memory than others."""
    pins = world.router(PinRules(ttl_ms=TTL_MS, cap=8, evict=True))
    for n in range(24):
        await pins.try_pin(key(f"s{n}"), "r1", roster(1))
    assert await world.live(key()) == 8


async def test_a_lower_cap_takes_effect_with_the_next_pin(world: PinWorld) -> None:
    """As many pins go as are too many."""
    for n in range(6):
        await world.router(RULES).try_pin(key(f"s{n}"), "r1", roster(1))
        await world.advance(1)
    await world.router(PinRules(ttl_ms=TTL_MS, cap=3, evict=True)).try_pin(
        key("new"), "r1", roster(1)
    )
    assert await world.live(key()) == 3


async def test_each_tenant_has_a_cap_of_its_own(world: PinWorld) -> None:
    """One tenant cannot push out the pins of another, or of another deployment."""
    pins = world.router(PinRules(ttl_ms=TTL_MS, cap=1))
    await pins.try_pin(key("a"), "r1", roster(1))
    assert isinstance(await pins.try_pin(key("b"), "r1", roster(1)), Skipped)
    for other in (key("b", tenant="u"), key("b", deployment="e")):
        assert await pins.try_pin(other, "r1", roster(1)) == Inserted(R1)


async def test_scopes_do_not_collide(world: PinWorld) -> None:
    """Tenant `a` with session `b:c`, tenant `a:b` with session `c`, and what looks encoded."""
    pins = world.router()
    keys = [
        key("b:c", tenant="a"),
        key("c", tenant="a:b"),
        key("b%3Ac", tenant="a"),
        key("c", tenant="b", deployment="d:a"),
        key("b:c", tenant="A"),
        key("}{", tenant="a"),
        key("", tenant="a:b:c"),
    ]
    for n, pin_key in enumerate(keys):
        outcome = await pins.try_pin(pin_key, f"r{n}", roster(1, {f"r{n}": 1}))
        assert isinstance(outcome, Inserted)
    for n, pin_key in enumerate(keys):
        assert await pins.lookup(pin_key, roster(1, {f"r{n}": 1})) == Pin(f"r{n}", 1)


async def test_a_part_over_256_encoded_bytes_is_not_pinned(world: PinWorld) -> None:
    """The limit counts what is stored: `é` takes six bytes there."""
    pins = world.router()
    fits = ["x" * 256, "é" * 42]
    too_long = ["x" * 257, "é" * 43, "\ud800"]
    for session in fits:
        assert await pins.try_pin(key(session), "r1", roster(1)) == Inserted(R1)
    for session in too_long:
        assert await pins.try_pin(key(session), "r1", roster(1)) == Skipped(R1)
        assert await pins.lookup(key(session), roster(1)) is None
        assert await pins.try_pin(key(tenant=session), "r1", roster(1)) == Skipped(R1)
    assert pins.counts[Finding.REFUSED] == 9


async def test_a_revision_that_takes_no_new_sessions_is_not_pinned(world: PinWorld) -> None:
    """The pin would not hold for a single look-up."""
    pins = world.router()
    assert await pins.try_pin(key(), "r3", roster(1)) == Skipped(Pin("r3", 1))
    assert await pins.lookup(key(), roster(1)) is None


async def test_eight_callers_that_replace_a_stale_pin_agree_on_one(world: PinWorld) -> None:
    """Exactly one of them inserts; the others, and later callers, see its pin."""
    routers = [world.router() for _ in range(8)]
    names = {f"n{n}": 2 for n in range(8)}
    for session in (f"s{n}" for n in range(20)):
        await routers[0].try_pin(key(session), "r1", roster(1))
        outcomes = await asyncio.gather(
            *(
                router.try_pin(key(session), name, roster(2, names))
                for router, name in zip(routers, names, strict=True)
            )
        )
        winners = [outcome.pin for outcome in outcomes if isinstance(outcome, Inserted)]
        assert len(winners) == 1
        losers = {outcome.pin for outcome in outcomes if isinstance(outcome, Existing)}
        assert losers == {winners[0]}
        assert await routers[0].lookup(key(session), roster(2, names)) == winners[0]


async def test_counts_say_what_calls_found(world: PinWorld) -> None:
    """A peek is not counted."""
    pins = world.router(PinRules(ttl_ms=TTL_MS, cap=1))
    await pins.lookup(key(), roster(1))
    await pins.try_pin(key(), "r1", roster(1))
    await pins.try_pin(key(), "r1", roster(1))
    await pins.lookup(key(), roster(1))
    await pins.lookup(key(), roster(1), peek=True)
    await pins.try_pin(key("other"), "r1", roster(1))
    await pins.try_pin(key(), "r2", roster(2, {"r2": 2}))
    assert pins.counts == {
        Finding.MISS: 2,
        Finding.HIT: 2,
        Finding.REFUSED: 1,
        Finding.STALE: 1,
    }

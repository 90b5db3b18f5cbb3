"""hf_pin_try."""

from __future__ import annotations

from holdfast.model.pins import Finding, Pin, PinRules
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.pinning import RULES, TTL_MS, key, place, roster

PLACE = place(key())


async def test_the_first_call_pins_and_the_same_call_again_finds_it(
    store: Store, dump: Dump
) -> None:
    """The repeated call changes nothing and names the revision that it asked for."""
    assert await store.pins.try_pin(PLACE, "r1", roster(1), RULES) == (Finding.MISS, None)
    before = dump()
    again = await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    assert again == (Finding.HIT, Pin("r1", 1))
    assert dump() == before


async def test_keys_of_one_scope_share_a_slot_and_are_readable(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Each part is percent-encoded, under the tag of a partition."""
    where = place(key("b:c/d", tenant="a"))
    await store.pins.try_pin(where, "r1", roster(7), RULES)
    tag = store.tag_of(where.scope)
    assert where.scope == "local:d:a"
    keys = {name: value for name, value in dump().items() if ":pin" in name}
    assert keys[f"{tag}:pins:local:d:a"] == {b"b%3Ac%2Fd": b"r1|7|60000"}
    assert keys[f"{tag}:pin_ends:local:d:a"] == {b"b%3Ac%2Fd": clock.now_ms + TTL_MS}


async def test_a_pin_that_does_not_hold_is_replaced(store: Store, clock: Clock) -> None:
    """The new pin is really written."""
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    moved = roster(2, {"r2": 2})
    assert await store.pins.try_pin(PLACE, "r2", moved, RULES) == (Finding.STALE, None)
    found = await store.pins.lookup(PLACE, moved, peek=True)
    assert found == (Finding.HIT, Pin("r2", 2))


async def test_an_expired_pin_is_a_miss(store: Store, clock: Clock) -> None:
    """It ends after its TTL, to the millisecond."""
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    await clock.advance(TTL_MS)
    assert await store.pins.try_pin(PLACE, "r2", roster(1), RULES) == (Finding.MISS, None)


async def test_at_the_cap_a_call_is_refused_and_changes_nothing(store: Store, dump: Dump) -> None:
    """Other sessions keep their pins."""
    rules = PinRules(ttl_ms=TTL_MS, cap=1)
    await store.pins.try_pin(PLACE, "r1", roster(1), rules)
    before = dump()
    other = place(key("other"))
    assert await store.pins.try_pin(other, "r1", roster(1), rules) == (Finding.REFUSED, None)
    assert dump() == before


async def test_a_value_that_cannot_be_read_is_replaced(store: Store) -> None:
    """It would otherwise block the session until it expires."""
    broken = ["", "r1", "r1|1", "|1|60000", "r1|x|60000", "r1|1|x", "r1|1|60000|", "r1|-1|60000"]
    pins = f"{store.tag_of(PLACE.scope)}:pins:{PLACE.scope}"
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    for text in [*broken, "r1|1e3|60000", f"r1|{'9' * 16}|60000"]:
        await store.client.call(["HSET", pins, PLACE.session, text])
        assert await store.pins.try_pin(PLACE, "r2", roster(1), RULES) == (Finding.STALE, None)
        found = await store.pins.lookup(PLACE, roster(1), peek=True)
        assert found == (Finding.HIT, Pin("r2", 1))


async def test_both_keys_of_a_scope_expire_after_the_last_pin(store: Store) -> None:
    """A short pin does not shorten the life of the keys, and no scope stays for ever.

    Some time is to spare: the keys of short pins must not end before their pins do in a process
    that was paused.
    """
    await store.pins.try_pin(PLACE, "r1", roster(1), RULES)
    await store.pins.try_pin(place(key("o")), "r1", roster(1), PinRules(ttl_ms=1))
    for name in ("pins", "pin_ends"):
        reply = await store.client.call(
            ["PTTL", f"{store.tag_of(PLACE.scope)}:{name}:{PLACE.scope}"]
        )
        assert TTL_MS + 50_000 < int(reply) <= 2 * TTL_MS + 60_000


async def test_expired_pins_leave_memory(store: Store, clock: Clock, dump: Dump) -> None:
    """Each new pin removes up to a hundred expired ones."""
    for n in range(120):
        await store.pins.try_pin(place(key(f"s{n}")), "r1", roster(1), RULES)
    await clock.advance(TTL_MS)
    sizes = []
    for n in range(2):
        await store.pins.try_pin(place(key(f"new{n}")), "r1", roster(1), RULES)
        (pins,) = (value for name, value in dump().items() if ":pins:" in name)
        assert isinstance(pins, dict)
        sizes.append(len(pins))
    assert sizes == [21, 2]

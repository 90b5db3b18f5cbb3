"""hf_queue_claim."""

from __future__ import annotations

from holdfast.engine import Engine
from holdfast.model.deliveries import Claimed
from holdfast.store.queues import new_request
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import call_twice, codes, counts, push, read, read_one, refused, settle


async def _claim(
    engine: Engine, min_idle_ms: int = 0, count: int = 10, **options: object
) -> Claimed:
    fields: dict[str, object] = {"consumer": "janitor", **options}
    return await engine.queues.claim("q", min_idle_ms=min_idle_ms, count=count, **fields)  # type: ignore[arg-type]


async def test_idle_deliveries_are_taken_over_with_new_handles(
    engine: Engine, clock: Clock
) -> None:
    """A claim is a hand-out: attempts count, the zombie's handle is dead."""
    await engine.queues.define("q")
    await push(engine, b"1")
    zombie = await read_one(engine)
    await clock.advance(4_999)
    assert (await _claim(engine, 5_000)).deliveries == []
    await clock.advance(1)
    (taken,) = (await _claim(engine, 5_000)).deliveries
    assert taken.message.attempt == 2
    assert await codes(settle(engine, "ack", zombie)) == ["stale_delivery"]
    assert await codes(settle(engine, "ack", taken)) == ["ok"]


async def test_idle_counts_from_the_last_hand_out_or_extension(
    engine: Engine, clock: Clock
) -> None:
    """Two janitors cannot take the same delivery one after the other."""
    await engine.queues.define("q")
    await push(engine, b"1")
    held = await read_one(engine)
    await clock.advance(5_000)
    await engine.queues.extend("q", [(held.handle, None)])
    assert (await _claim(engine, 5_000)).deliveries == []
    await clock.advance(5_000)
    assert len((await _claim(engine, 5_000)).deliveries) == 1
    assert (await _claim(engine, 5_000, consumer="second")).deliveries == []


async def test_a_claim_stays_in_its_group(engine: Engine) -> None:
    """What another group has is no candidate."""
    await engine.queues.define("q", mode="fanout")
    for group in ("a", "b"):
        await engine.queues.add_group("q", group)
    await push(engine, b"1")
    await read_one(engine, group="a")
    assert (await _claim(engine, group="b")).deliveries == []
    assert len((await _claim(engine, group="a")).deliveries) == 1


async def test_a_cursor_goes_through_many_with_one_deadline(engine: Engine, clock: Clock) -> None:
    """Page by page, each delivery once, busy ones passed over."""
    await engine.queues.define("q", max_attempts=9)
    await push(engine, *[b"%d" % n for n in range(30)])
    held = await read(engine, 30)
    await clock.advance(1_000)
    busy = [(delivery.handle, None) for delivery in held[:20]]
    await engine.queues.extend("q", busy)
    seen: list[bytes] = []
    cursor: str | None = None
    for _ in range(100):
        page = await _claim(engine, 1_000, 1, cursor=cursor)
        seen += [delivery.message.payload for delivery in page.deliveries]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen, key=int) == [b"%d" % n for n in range(20, 30)]


async def test_what_expired_and_was_not_taken_can_be_claimed(engine: Engine, clock: Clock) -> None:
    """Whether a tick has seen the expiry or not; keys stay in order."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1", b"2", key="k")
    await push(engine, b"3")
    await read(engine)
    await clock.advance_and_tick(1_000)
    found = (await _claim(engine, 1_000)).deliveries
    assert sorted(d.message.payload for d in found) == [b"1", b"3"]
    assert await counts(engine) == {"ready": 1, "in_flight": 2}


async def test_what_was_read_again_and_nacked_is_ready_but_not_idle(
    engine: Engine, clock: Clock
) -> None:
    """The expiry of an earlier delivery does not count any more."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    await read_one(engine)
    await clock.advance_and_tick(1_000)
    await settle(engine, "nack", await read_one(engine))
    assert (await _claim(engine)).deliveries == []
    assert await counts(engine) == {"ready": 1}


async def test_a_claim_beyond_the_budget_gives_up_instead(engine: Engine) -> None:
    """Hand-outs never exceed the budget, by no verb."""
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1")
    await read_one(engine)
    assert (await _claim(engine)).deliveries == []
    assert await counts(engine) == {"dead": 1}
    assert await counts(engine, "dead") == {"ready": 1}


async def test_consumers_counts_follow(engine: Engine) -> None:
    """What is taken over is the janitor's."""
    await engine.queues.define("q", max_in_flight_per_consumer=1)
    await push(engine, b"1", b"2")
    await read_one(engine, consumer="a")
    await _claim(engine)
    assert len(await read(engine, consumer="a")) == 1
    assert len(await read(engine, consumer="janitor")) == 0


async def test_a_lost_reply_claims_once(store: Store, engine: Engine) -> None:
    """The repeated claim returns the same deliveries."""
    await engine.queues.define("q", max_attempts=9)
    await push(engine, b"1", b"2")
    await read(engine)
    args = ("", new_request(), "janitor", "0", "1", "")
    first, second = await call_twice(store, "hf_queue_claim", "q", *args)
    assert first == second
    assert len(first) == 3


async def test_unknown_names_are_refused(engine: Engine, dump: Dump) -> None:
    """Queue and group."""
    await engine.queues.define("q")
    await refused(_claim(engine, group="nobody"), "group_not_found", dump)
    await engine.queues.delete("q")
    await refused(_claim(engine), "queue_not_found", dump)

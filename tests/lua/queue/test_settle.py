"""hf_queue_settle."""

from __future__ import annotations

import pytest

from holdfast.engine import Engine
from holdfast.model.deliveries import Settle, Verb
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.queues import (
    call_twice,
    codes,
    counts,
    payloads,
    push,
    read,
    read_one,
    refused,
    settle,
)

VERBS: tuple[Verb, ...] = ("ack", "nack", "release", "reject")


async def test_an_ack_removes_the_message(engine: Engine, dump: Dump) -> None:
    """Nothing of it is left but the count and the memory of the handle."""
    await engine.queues.define("q")
    await push(engine, b"1", key="k")
    assert await codes(settle(engine, "ack", await read_one(engine))) == ["ok"]
    assert await counts(engine) == {"acked": 1}
    tag = engine.store.queue_tag("q")
    left = {key.removeprefix(f"{tag}:") for key in dump() if key.startswith(tag)}
    assert not left & {"messages", "bodies", "handles", "tries:default", "flight:default"}
    assert not left & {"lines:default", "busy:default", "consumers:default"}


async def test_a_nack_waits_as_told(engine: Engine, clock: Clock) -> None:
    """By its own delay, else by the queue's list, whose last wait is repeated."""
    await engine.queues.define("q", backoff=(1_000, 2_000), max_attempts=9)
    await push(engine, b"1")
    for delay, expected in ((None, 1_000), (None, 2_000), (None, 2_000), (500, 500), (0, 0)):
        await settle(engine, "nack", await read_one(engine), delay_ms=delay)
        if expected:
            await clock.advance(expected - 1)
            assert await payloads(engine) == []
            await clock.advance(1)
    assert (await read_one(engine)).message.attempt == 6


async def test_a_release_is_ready_at_once_and_counts(engine: Engine) -> None:
    """Attempts are hand-outs: the second is the last of two."""
    await engine.queues.define("q", max_attempts=2, backoff=(60_000,))
    await push(engine, b"1")
    for _ in range(2):
        await settle(engine, "release", await read_one(engine))
    assert await counts(engine) == {"dropped": 1}


@pytest.mark.parametrize("how", ["nack", "release", "expiry"])
async def test_hand_outs_never_exceed_the_budget(engine: Engine, clock: Clock, how: str) -> None:
    """One definition for all ways back: the message goes at its last hand-out's end."""
    await engine.queues.define("q", max_attempts=3, lock_ms=1_000, dead_letter="dead")
    await push(engine, b"1")
    attempts = []
    for _ in range(3):
        held = await read_one(engine)
        attempts.append(held.message.attempt)
        if how == "expiry":
            await clock.advance(1_000)
        else:
            await settle(engine, "nack" if how == "nack" else "release", held)
    assert attempts == [1, 2, 3]
    assert await payloads(engine) == []
    assert await counts(engine) == {"dead": 1}


async def test_a_dead_letter_carries_its_envelope(engine: Engine, clock: Clock) -> None:
    """Where it comes from, whose it was, how often, when, and why."""
    await engine.queues.define("q", mode="fanout", max_attempts=2, dead_letter="dead")
    await engine.queues.add_group("q", "billing")
    await push(engine, b"1", id="m", key="k")
    first_at = clock.now_ms
    await settle(engine, "nack", await read_one(engine, group="billing"), reason="bad")
    await clock.advance(5_000)
    await settle(engine, "nack", await read_one(engine, group="billing"), reason="worse")
    letter = (await read_one(engine, queue="dead")).message
    assert (letter.id, letter.payload, letter.key, letter.attempt) == ("m", b"1", "k", 1)
    envelope = letter.dead_letter
    assert envelope is not None
    assert (envelope.origin, envelope.group, envelope.id) == ("q", "billing", "m")
    assert (envelope.attempts, envelope.reason) == (2, "worse")
    assert envelope.first_at == from_ms(first_at)
    assert envelope.last_at == from_ms(clock.now_ms)


async def test_a_reject_is_a_dead_letter_at_once(engine: Engine) -> None:
    """Whatever is left of the budget."""
    await engine.queues.define("q", dead_letter="dead")
    await push(engine, b"1")
    await settle(engine, "reject", await read_one(engine), reason="poison")
    (letter,) = await read(engine, queue="dead")
    assert letter.message.dead_letter is not None
    assert letter.message.dead_letter.reason == "poison"


async def test_a_dead_letter_queue_never_gives_up_by_itself(engine: Engine, clock: Clock) -> None:
    """Reading it never destroys: no budget, no time to live, no limit of size."""
    await engine.queues.define("dead", max_attempts=1, ttl_ms=1_000, max_size=1, lock_ms=1_000)
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1", b"2")
    await settle(engine, "nack", *await read(engine))
    for _ in range(5):
        assert len(await read(engine, queue="dead")) == 2
        await clock.advance_and_tick(1_000)
    assert await counts(engine, "dead") == {"ready": 2}


@pytest.mark.parametrize("verb", VERBS)
async def test_the_same_verb_again_is_a_repetition(
    engine: Engine, clock: Clock, dump: Dump, verb: Verb
) -> None:
    """For 30 s, though the lock is shorter; then, and with any other verb, the handle is stale.

    Callers repeat a call whose reply was lost for longer than a short lock lasts.
    """
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    held = await read_one(engine)
    assert await codes(settle(engine, verb, held)) == ["ok"]
    before = dump()
    assert await codes(settle(engine, verb, held)) == ["repeated"]
    for other in VERBS:
        if other != verb:
            assert await codes(settle(engine, other, held)) == ["stale_delivery"]
    assert dump() == before
    await clock.advance(29_999)
    assert await codes(settle(engine, verb, held)) == ["repeated"]
    await clock.advance(1)
    assert await codes(settle(engine, verb, held)) == ["stale_delivery"]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_superseded_handle_is_stale(
    engine: Engine, clock: Clock, dump: Dump, verb: Verb
) -> None:
    """A zombie cannot settle what another consumer has now."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    zombie = await read_one(engine, consumer="a")
    await clock.advance(1_000)
    await read_one(engine, consumer="b")
    before = dump()
    assert await codes(settle(engine, verb, zombie)) == ["stale_delivery"]
    assert dump() == before


@pytest.mark.parametrize("ticked", [True, False])
async def test_only_an_ack_may_come_late(engine: Engine, clock: Clock, ticked: bool) -> None:
    """While nobody has the message again; whether a tick has looked makes no difference."""
    await engine.queues.define("q", lock_ms=1_000)
    for verb in VERBS:
        await push(engine, b"1")
        held = await read_one(engine)
        await clock.advance(1_000)
        if ticked:
            await clock.tick()
        expected = "ok" if verb == "ack" else "stale_delivery"
        assert await codes(settle(engine, verb, held)) == [expected]
        await settle(engine, "ack", *await read(engine))


async def test_a_late_ack_leaves_nothing_of_the_message(
    engine: Engine, clock: Clock, dump: Dump
) -> None:
    """Nor of the fact that its lock had expired."""
    await engine.queues.define("q", lock_ms=1_000)
    await push(engine, b"1")
    held = await read_one(engine)
    await clock.advance_and_tick(1_000)
    assert await codes(settle(engine, "ack", held)) == ["ok"]
    tag = engine.store.queue_tag("q")
    left = {key.removeprefix(f"{tag}:") for key in dump() if key.startswith(tag)}
    assert not left & {"messages", "tries:default", "late:default", "open:default"}


async def test_an_ack_after_the_last_attempt_expired_is_stale(engine: Engine, clock: Clock) -> None:
    """The message is a dead letter by then: it is not two things."""
    await engine.queues.define("q", lock_ms=1_000, max_attempts=1, dead_letter="dead")
    await push(engine, b"1")
    held = await read_one(engine)
    await clock.advance(1_000)
    assert await codes(settle(engine, "ack", held)) == ["stale_delivery"]
    assert await counts(engine) == {"dead": 1}


async def test_foreign_and_forged_handles_are_unknown(engine: Engine, dump: Dump) -> None:
    """Never issued by this queue: another queue's, a changed one, any text."""
    await engine.queues.define("q")
    await engine.queues.define("other")
    await push(engine, b"1")
    await push(engine, b"1", queue="other")
    own, foreign = await read_one(engine), await read_one(engine, queue="other")
    changed = own.handle.replace("-1-", "-2-")
    before = dump()
    items = [Settle(handle=handle) for handle in (foreign.handle, changed, "x", "no handle")]
    for verb in VERBS:
        found = await codes(engine.queues.settle("q", verb, items))
        assert found == ["unknown_delivery"] * 4
    assert dump() == before


async def test_items_are_settled_one_by_one(engine: Engine) -> None:
    """A bad one among them changes nothing for the others; a double one is a repetition."""
    await engine.queues.define("q")
    await push(engine, b"1", b"2")
    first, second = await read(engine)
    items = [Settle(handle=handle) for handle in (first.handle, "x", first.handle, second.handle)]
    found = await codes(engine.queues.settle("q", "ack", items))
    assert found == ["ok", "unknown_delivery", "repeated", "ok"]


async def test_a_lost_reply_settles_once(store: Store, engine: Engine) -> None:
    """A nack sent twice costs one attempt."""
    await engine.queues.define("q")
    await push(engine, b"1")
    held = await read_one(engine)
    answers = await call_twice(store, "hf_queue_settle", "q", "nack", held.handle, "", "")
    assert answers == [[0, [b"ok"]], [0, [b"repeated"]]]
    assert (await read_one(engine)).message.attempt == 2


async def test_an_unknown_queue_is_refused(engine: Engine, dump: Dump) -> None:
    """Before any handle is looked at."""
    await refused(engine.queues.ack("nowhere", "h"), "queue_not_found", dump)


async def test_a_message_that_was_collected_does_not_expire(engine: Engine, clock: Clock) -> None:
    """Every group has acknowledged it before its time is over."""
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")
    await push(engine, b"1", ttl_ms=1_000)
    await settle(engine, "ack", await read_one(engine, group="g"))
    await clock.advance(1_000)
    assert await read(engine, group="g") == []
    found = await engine.queues.stats("q")
    assert (found.collected, found.stored) == (1, 0)

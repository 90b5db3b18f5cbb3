"""hf_inbox_take."""

from __future__ import annotations

import pytest

from holdfast.errors import TooManySteps
from holdfast.model.inboxes import decode_received
from holdfast.model.waitpoints import Effect, Signal, Source
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.inboxes import receive, send
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
)


async def test_a_received_signal_is_a_step(store: Store, dump: Dump) -> None:
    """The next attempt has it in its journal, and not in its inbox."""
    claim = await claim_one(store, await create_one(store))
    await send(store, claim.id, "a", payload=b'{"x": 1}', idempotency_key="k")
    await send(store, claim.id, "b", payload=b"2")
    assert await receive(store, claim, "signal:b:1", "b") == 2
    assert await receive(store, claim, "signal:a:1", "a") == {"x": 1}
    await store.executions.delay(claim.id, claim.lease, 0)
    again = await claim_one(store, claim.id)
    assert list(again.steps) == ["signal:b:1", "signal:a:1"]
    signal = decode_received(again.steps["signal:a:1"])
    assert signal is not None
    assert (signal.name, signal.value, signal.idempotency_key) == ("a", {"x": 1}, "k")
    assert await receive(store, again, "signal:a:2") is None
    assert violations(dump()) == []


async def test_a_repeated_call_gets_the_recorded_signal(store: Store, dump: Dump) -> None:
    """The first receipt counts, and the inbox loses nothing more."""
    claim = await claim_one(store, await create_one(store))
    for n in (b"1", b"2"):
        await send(store, claim.id, payload=n)
    first = await store.inboxes.peek(claim.id, claim.lease, [])
    assert first is not None
    recorded = await store.inboxes.take(claim.id, claim.lease, "one", first)
    before = dump()
    assert await store.inboxes.take(claim.id, claim.lease, "one", first) == recorded
    second = await store.inboxes.peek(claim.id, claim.lease, [])
    assert second is not None
    assert await store.inboxes.take(claim.id, claim.lease, "one", second) == recorded
    assert dump() == before
    assert await store.inboxes.take(claim.id, claim.lease, "two", first) is None
    assert dump() == before


@pytest.mark.parametrize("way", WAYS_TO_LOSE)
async def test_a_former_holder_receives_nothing(
    store: Store, clock: Clock, dump: Dump, way: str
) -> None:
    """The signal stays for the next attempt."""
    lost = await lose_lease(store, clock, way)
    signal = Signal(name="s", payload=b"1", source=Source(), at=clock.now, effect=Effect.BUFFERED)
    call = store.inboxes.take(lost.id, lost.lease, "s", (b"1", signal))
    await refused(call, lost.error, dump, **lost.context)


async def test_the_journal_is_bounded(store: Store, dump: Dump) -> None:
    """A full one receives nothing more."""
    claim = await claim_one(store, await create_one(store))
    await send(store, claim.id)
    key = f"{store.tag_of(claim.id)}:s:{claim.id}"
    steps = [part for n in range(10_000) for part in (f"s{n}", f"{n} 1 1")]
    await store.client.call(["HSET", key, *steps])
    unread = await store.inboxes.peek(claim.id, claim.lease, [])
    assert unread is not None
    full = store.inboxes.take(claim.id, claim.lease, "s", unread)
    await refused(full, TooManySteps, dump, id=claim.id, limit=10_000)

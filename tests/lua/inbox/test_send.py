"""hf_inbox_send."""

from __future__ import annotations

import pytest

from holdfast.errors import AlreadyTerminal, ExecutionNotFound, InboxFull
from holdfast.model.states import Hold, State
from holdfast.model.waitpoints import Effect, Source
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.inboxes import receive, send
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one, create_one, refused, state_of

MOST = 1_000


async def test_signals_are_received_in_their_order(store: Store, dump: Dump) -> None:
    """Also those that came before the execution ran."""
    execution_id = await create_one(store)
    for n in range(3):
        effect = await send(
            store,
            execution_id,
            payload=b"%d" % n,
            source=Source(type="user", identity="ann"),
            correlation="c7",
        )
        assert effect is Effect.BUFFERED
    assert (await store.queries.describe(execution_id)).unread == 3
    listed = await store.waitpoints.signals(execution_id)
    assert [(one.value, one.source.identity, one.correlation) for one in listed] == [
        (n, "ann", "c7") for n in range(3)
    ]
    assert violations(dump()) == []
    claim = await claim_one(store, execution_id)
    assert [await receive(store, claim, f"s{n}") for n in range(4)] == [0, 1, 2, None]
    assert (await store.queries.describe(execution_id)).unread == 0
    assert violations(dump()) == []


async def test_a_key_counts_once(store: Store, dump: Dump) -> None:
    """Also after the signal was received, and after the end of the execution."""
    execution_id = await create_one(store)
    assert await send(store, execution_id, idempotency_key="k1") is Effect.BUFFERED
    before = dump()
    assert await send(store, execution_id, idempotency_key="k1") is Effect.DUPLICATE
    assert dump() == before
    assert await send(store, execution_id, idempotency_key="k2") is Effect.BUFFERED
    claim = await claim_one(store, execution_id)
    await receive(store, claim, "one")
    assert await send(store, execution_id, idempotency_key="k1") is Effect.DUPLICATE
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await send(store, execution_id, idempotency_key="k1") is Effect.DUPLICATE


async def test_a_repeated_call_gets_its_first_answer(store: Store, dump: Dump) -> None:
    """As after a lost reply."""
    execution_id = await create_one(store)
    args = (execution_id, "request", "key", "s", b"1", "", "", "")
    tag = store.tag_of(execution_id)
    first = await store.caller.write("hf_inbox_send", tag, *args)
    before = dump()
    assert await store.caller.write("hf_inbox_send", tag, *args) == first == [b"buffered", 1]
    assert dump() == before


async def test_nobody_is_there(store: Store, dump: Dump) -> None:
    """Before its creation and after its end; the unread ones stay with it."""
    await refused(send(store, "nothing"), ExecutionNotFound, dump, id="nothing")
    execution_id = await create_one(store)
    await send(store, execution_id)
    await store.executions.cancel(execution_id, "")
    await refused(
        send(store, execution_id), AlreadyTerminal, dump, id=execution_id, state="cancelled"
    )
    assert (await store.queries.describe(execution_id)).unread == 1


async def test_an_inbox_is_bounded(store: Store, dump: Dump) -> None:
    """By number and by size; there is room again when signals are received."""
    execution_id = await create_one(store)
    claim = await claim_one(store, execution_id)
    for _ in range(MOST):
        await send(store, execution_id)
    full = send(store, execution_id)
    await refused(full, InboxFull, dump, id=execution_id, limit=MOST, bytes=8 << 20)
    await receive(store, claim, "one")
    await send(store, execution_id)
    large = await create_one(store)
    payload = b'"' + b"x" * ((64 << 10) - 2) + b'"'
    for _ in range(128):
        await send(store, large, payload=payload)
    with pytest.raises(InboxFull, match="8388608 bytes"):
        await send(store, large)
    assert violations(dump()) == []


async def test_an_execution_that_waits_for_it_continues(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Only for a name that it waits for; the attempt is the same."""
    claim = await claim_one(store, await create_one(store))
    assert await store.inboxes.wait(claim.id, claim.lease, ["go", "stop*"], None) is None
    await send(store, claim.id, "other")
    found = await store.queries.describe(claim.id)
    assert (found.state, found.hold, found.listens) == (
        State.DELAYED,
        Hold.SIGNAL,
        ("go", "stop*"),
    )
    assert violations(dump()) == []
    await send(store, claim.id, "stopped")
    again = await claim_one(store, claim.id)
    assert (again.lease.attempt, again.lease.epoch) == (0, 2)
    events = [event.event for event in await store.queries.history(claim.id)]
    assert events == ["created", "claimed", "delayed", "signalled", "resumed"]
    assert await state_of(store, claim.id) is State.ACTIVE
    assert violations(dump()) == []

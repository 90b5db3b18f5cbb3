"""hf_waitpoint_signals."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.model.moments import from_ms
from holdfast.model.waitpoints import Effect, NewSignal, Signal, Source
from holdfast.store.store import Store
from holdfast.store.waitpoints import Sender
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, create_one
from tests.support.waits import effects_of, prepare_one, run_one, send, suspend


async def test_a_signal_is_kept_as_it_came(store: Store, clock: Clock, dump: Dump) -> None:
    """With all that its sender said, and its effect; reading changes nothing."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await clock.advance(3)
    item = NewSignal(
        waitpoint=point.id,
        name="go",
        payload='{"ü": [1, 2.5, null]}'.encode(),
        source=Source(type="user", identity="ann"),
        idempotency_key="k1",
        correlation="case-7",
    )
    await store.waitpoints.signal(item, Sender())
    before = dump()
    assert await store.waitpoints.signals(claim.id) == [
        Signal(
            name="go",
            payload='{"ü": [1, 2.5, null]}'.encode(),
            source=Source(type="user", identity="ann"),
            at=from_ms(clock.now_ms),
            effect=Effect.BUFFERED,
            waitpoint=point.id,
            idempotency_key="k1",
            correlation="case-7",
        )
    ]
    assert dump() == before


async def test_the_history_has_an_effect_for_each(store: Store) -> None:
    """In the order of arrival; a duplicate is no second signal."""
    claim = await run_one(store)
    point = await prepare_one(store, claim)
    await send(store, point, "early", key="e")
    condition = {
        "all": [
            {"waitpoint": "gate", "signal": ["early", "a"]},
            {"waitpoint": "gate", "signal": "b"},
        ]
    }
    await suspend(store, claim, point, condition=condition)
    await send(store, point, "early", key="e")
    await send(store, point, "other")
    await send(store, point, "a")
    await send(store, point, "b")
    assert await effects_of(store, claim.id) == [
        ("early", "appended"),
        ("other", "ignored"),
        ("a", "appended"),
        ("b", "resumed"),
    ]


async def test_none(store: Store) -> None:
    """Most have none; an unknown execution is told apart."""
    assert await store.waitpoints.signals(await create_one(store)) == []
    with pytest.raises(ExecutionNotFound):
        await store.waitpoints.signals("nobody")

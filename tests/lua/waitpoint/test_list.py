"""hf_waitpoint_list."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.model.conditions import After, Group, Leaf
from holdfast.model.waitpoints import WaitpointState
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, create_one
from tests.support.waits import prepare, run_one, send, suspend, suspend_one


async def test_all_waitpoints_in_order(store: Store, dump: Dump) -> None:
    """Open and closed ones alike; reading changes nothing."""
    claim = await run_one(store)
    (first, _) = await prepare(store, claim, "a", "b")
    await store.waitpoints.revoke(claim.id, 1)
    await suspend(store, claim, "c", "b")
    before = dump()
    points, _ = await store.waitpoints.of(claim.id)
    assert [(one.name, one.state.value) for one in points] == [
        ("a", "closed"),
        ("b", "open"),
        ("c", "open"),
    ]
    assert points[0].id == first.id
    assert dump() == before


async def test_what_it_waits_for_and_what_has_come(store: Store, clock: Clock) -> None:
    """The condition as it was given, its spans as moments, and the signals at its waitpoints."""
    began = clock.now_ms
    condition = {
        "all": [
            {"waitpoint": "b", "signal": ["go*"], "where": "payload > 1"},
            {"count": 2, "distinct": "sources", "of": [{"waitpoint": "a"}]},
            {"after_ms": 5_000},
        ]
    }
    claim, (a, b) = await suspend_one(store, "a", "b", condition=condition)
    await send(store, a, "yes", by="ann", payload=b"[1]")
    await send(store, b, "gone", payload=b"1")
    await clock.advance(3)
    _, wait = await store.waitpoints.of(claim.id)
    assert wait is not None
    assert wait.condition == Group(
        of=(
            Leaf(waitpoint="b", names=("go*",), where="payload > 1"),
            Group(of=(Leaf(waitpoint="a"),), least=2, distinct="sources"),
            After(time_ms=began + 5_000),
        )
    )
    assert [(one.waitpoint, one.name, one.payload) for one in wait.seen] == [
        ("a", "yes", [1]),
        ("b", "gone", 1),
    ]
    assert wait.seen[0].source == ("user", "ann")


async def test_there_is_no_wait_when_it_has_ended(store: Store) -> None:
    """What a wait leaves behind for the next attempt is not shown as one."""
    claim, (point,) = await suspend_one(store)
    await send(store, point)
    points, wait = await store.waitpoints.of(claim.id)
    assert (points[0].state, wait) == (WaitpointState.CLOSED, None)


async def test_an_execution_without_waitpoints(store: Store) -> None:
    """Most have none."""
    points, wait = await store.waitpoints.of(await create_one(store))
    assert (points, wait) == ([], None)


async def test_an_unknown_execution(store: Store) -> None:
    """It is told apart from one without waitpoints."""
    with pytest.raises(ExecutionNotFound):
        await store.waitpoints.of("nobody")

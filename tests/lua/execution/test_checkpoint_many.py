"""hf_execution_checkpoint_many; test_brief_steps.py has steps in briefs."""

from __future__ import annotations

import pytest

from holdfast.errors import TooManySteps
from holdfast.model.moments import from_ms
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.briefs import plant
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
)


async def test_a_step_is_recorded(store: Store, clock: Clock) -> None:
    """The journal has its name, result and time."""
    claim = await claim_one(store, await create_one(store))
    assert await store.executions.checkpoint(claim.id, claim.lease, "charge card", b"1") == b"1"
    (step,) = await store.queries.steps(claim.id)
    assert (step.name, step.result, step.at) == ("charge card", b"1", from_ms(clock.now_ms))


async def test_the_first_result_of_a_step_wins(store: Store, dump: Dump) -> None:
    """A second result is answered with the first, and nothing changes."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "s", b"first")
    before = dump()
    answer = await store.executions.checkpoint(claim.id, claim.lease, "s", b"second")
    assert answer == b"first"
    assert dump() == before


@pytest.mark.parametrize("result", [b"", b" ", b"1 2 a\x00\n b", bytes(range(256)) * 100])
async def test_a_result_comes_back_byte_for_byte(store: Store, result: bytes) -> None:
    """Results are opaque: blanks, zeros and line ends survive."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "s", result)
    assert await store.executions.checkpoint(claim.id, claim.lease, "s", b"x") == result
    (step,) = await store.queries.steps(claim.id)
    assert step.result == result


async def test_steps_keep_the_order_of_recording(store: Store) -> None:
    """Order is that of the calls, not of names or times."""
    claim = await claim_one(store, await create_one(store))
    names = [f"s{(n * 7) % 20}" for n in range(20)]
    for name in names:
        await store.executions.checkpoint(claim.id, claim.lease, name, b"1")
    assert [step.name for step in await store.queries.steps(claim.id)] == names


async def test_the_next_attempt_gets_the_steps_and_goes_on(store: Store, clock: Clock) -> None:
    """A reclaimed execution hands its journal to the next worker, which adds to it."""
    first = await claim_one(store, await create_one(store), lease_ms=1_000)
    await store.executions.checkpoint(first.id, first.lease, "b", b"1")
    await store.executions.checkpoint(first.id, first.lease, "a", b"2")
    await clock.advance_and_tick(1_000)
    second = await claim_one(store, first.id)
    assert list(second.steps.items()) == [("b", b"1"), ("a", b"2")]
    await store.executions.checkpoint(second.id, second.lease, "0", b"3")
    assert [step.name for step in await store.queries.steps(first.id)] == ["b", "a", "0"]


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder_of_the_lease_records(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """A holder that lost its lease gets an error, and the journal stays as it is."""
    lost = await lose_lease(store, clock, how)
    call = store.executions.checkpoint(lost.id, lost.lease, "s", b"1")
    await refused(call, lost.error, dump, **lost.context)


async def test_a_full_journal_takes_no_new_step(store: Store, dump: Dump) -> None:
    """A claim hands out the whole journal, so it is bounded; known steps still answer."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.checkpoint(claim.id, claim.lease, "known", b"1")
    journal = f"{store.tag_of(claim.id)}:s:{claim.id}"
    filling = [part for n in range(2, 10_001) for part in (f"s{n}", f"{n} 0 x")]
    await store.client.call(["HSET", journal, *filling])
    await plant(store, claim.id, "steps", "10000")
    call = store.executions.checkpoint(claim.id, claim.lease, "one more", b"1")
    await refused(call, TooManySteps, dump, id=claim.id, limit=10_000)
    assert await store.executions.checkpoint(claim.id, claim.lease, "known", b"2") == b"1"

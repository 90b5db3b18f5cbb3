"""hf_session_state."""

from __future__ import annotations

import pytest

from holdfast.errors import SessionFull, SessionNotFound, TooManySteps
from holdfast.model.executions import Claim
from holdfast.model.sessions import StateValue
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
)
from tests.support.sessions import begin, session_of


async def get(store: Store, claim: Claim, step: str, name: str = "n") -> StateValue:
    """Read a value."""
    return await store.sessions.state(claim.id, claim.lease, step, name, op="get")


async def put(
    store: Store, claim: Claim, step: str, value: bytes, name: str = "n", **fields: int
) -> StateValue:
    """Set a value."""
    return await store.sessions.state(
        claim.id,
        claim.lease,
        step,
        name,
        op="set",
        value=value,
        expected=fields.get("expected"),
        ttl_ms=fields.get("ttl_ms"),
    )


async def test_values_have_versions(store: Store, clock: Clock, dump: Dump) -> None:
    """Each change counts; without a value there is none, and the next one is higher than before."""
    claim = await begin(store)
    assert await get(store, claim, "s1") == StateValue(value=None, version=0)
    assert await put(store, claim, "s2", b" a b ") == StateValue(
        value=b" a b ", version=1, changed=True
    )
    assert await get(store, claim, "s3") == StateValue(value=b" a b ", version=1)
    removed = await store.sessions.state(claim.id, claim.lease, "s4", "n", op="remove")
    assert removed == StateValue(value=None, version=0, changed=True)
    assert await put(store, claim, "s5", b"2") == StateValue(value=b"2", version=2, changed=True)
    assert violations(dump(), clock.now_ms) == []


async def test_a_comparison_of_versions_may_fail(store: Store) -> None:
    """Then nothing changes, and the answer has what there is."""
    claim = await begin(store)
    assert (await put(store, claim, "s1", b"1", expected=0)).changed
    assert await put(store, claim, "s2", b"2", expected=0) == StateValue(value=b"1", version=1)
    assert (await put(store, claim, "s3", b"3", expected=1)).version == 2


async def test_what_a_step_did_is_recorded(store: Store, clock: Clock, dump: Dump) -> None:
    """The next attempt gets the same answer, whatever changed since."""
    first = await begin(store)
    await put(store, first, "s1", b"1")
    await get(store, first, "s2")
    await put(store, first, "s3", b"3")
    await clock.advance_and_tick(30_000)
    second = await claim_one(store, first.id)
    before = dump()
    assert await put(store, second, "s1", b"1") == StateValue(value=b"1", version=1, changed=True)
    assert await get(store, second, "s2") == StateValue(value=b"1", version=1)
    assert dump() == before
    assert (await get(store, second, "s4")).value == b"3"


async def test_values_expire(store: Store, clock: Clock) -> None:
    """No version comes twice, so that a comparison is safe."""
    claim = await begin(store)
    await put(store, claim, "s1", b"1", ttl_ms=1_000)
    await clock.advance(999)
    assert (await get(store, claim, "s2")).value == b"1"
    await clock.advance(1)
    assert await get(store, claim, "s3") == StateValue(value=None, version=0)
    assert not (await put(store, claim, "s4", b"2", expected=1)).changed
    assert (await put(store, claim, "s5", b"2", expected=0)).version == 2


async def test_the_next_execution_has_the_same_state(store: Store) -> None:
    """It belongs to the session."""
    first = await begin(store)
    await put(store, first, "s1", b"1")
    await store.executions.complete(first.id, first.lease, b"null")
    second = await begin(store)
    assert (await get(store, second, "s1")).value == b"1"


async def test_the_number_of_values_is_bounded(store: Store, dump: Dump) -> None:
    """A thousand names; those that are known may change."""
    claim = await begin(store)
    for n in range(1_000):
        await put(store, claim, f"s{n}", b"1", f"n{n}")
    call = put(store, claim, "more", b"1", "more")
    await refused(call, SessionFull, dump, id=session_of(claim), limit=1_000)
    assert (await put(store, claim, "again", b"2", "n0")).changed


async def test_names_without_a_value_take_no_room(store: Store, clock: Clock) -> None:
    """Removed ones, and those whose time is over."""
    claim = await begin(store)
    for n in range(1_000):
        await put(store, claim, f"s{n}", b"1", f"n{n}", **({"ttl_ms": 1_000} if n == 7 else {}))
    await store.sessions.state(claim.id, claim.lease, "gone", "n0", op="remove")
    assert (await put(store, claim, "more", b"1", "more")).version == 2
    await clock.advance(1_000)
    assert (await put(store, claim, "and more", b"1", "and more")).changed
    names = [name for name, _ in await store.sessions.values(session_of(claim))]
    assert len(names) == 1_000
    assert not {"n0", "n7"} & set(names)


async def test_the_journal_is_bounded(store: Store, dump: Dump) -> None:
    """Each call is a step."""
    claim = await begin(store)
    packed = [part for n in range(10_000) for part in (f"s{n}", "1 1 0 0 ")]
    await store.client.call(["HSET", f"{store.tag_of(claim.id)}:s:{claim.id}", *packed])
    await refused(get(store, claim, "x"), TooManySteps, dump, id=claim.id, limit=10_000)


@pytest.mark.parametrize("how", WAYS_TO_LOSE)
async def test_only_the_holder(store: Store, clock: Clock, dump: Dump, how: str) -> None:
    """Whoever lost the lease changes nothing."""
    lost = await lose_lease(store, clock, how)
    call = store.sessions.state(lost.id, lost.lease, "s", "n", op="set", value=b"1")
    await refused(call, lost.error, dump, **lost.context)


async def test_only_an_execution_of_a_session(store: Store, dump: Dump) -> None:
    """Others have no such state."""
    claim = await claim_one(store, await create_one(store))
    await refused(get(store, claim, "s"), SessionNotFound, dump, id=claim.id)

"""hf_execution_complete_all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from holdfast.errors import ExecutionNotFound, LeaseRevoked, NotActive, StaleLease
from holdfast.model.calls import Completion
from holdfast.model.executions import Failure, Lease
from holdfast.model.frames import NewFrame
from holdfast.model.limit_refs import LimitRef
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import State
from holdfast.store.outboxes import Release, parse
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import claim_in, claim_one, create_one, create_together, state_of
from tests.support.limits import claim_as_before, make_budget, make_quota, wanted
from tests.support.streaming import read_all, said, text

Dump = Callable[[], dict[str, object]]


async def test_complete_ends_the_execution_with_its_result(store: Store) -> None:
    """The holder's result is stored and the state is terminal."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.complete(claim.id, claim.lease, b'{"n":1}')
    state, result, content_type, _ = await store.executions.watch(claim.id, "")
    assert (state, result, content_type) == (b"completed", b'{"n":1}', b"")


async def test_a_repeated_complete_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """After a lost reply the same holder may ask again; nothing changes."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.complete(claim.id, claim.lease, b"1")
    before = dump()
    await store.executions.complete(claim.id, claim.lease, b"2")
    assert dump() == before


@pytest.mark.parametrize("payload", [b"1", b"x" * 100], ids=["short", "long"])
async def test_an_expired_lease_cannot_complete(
    store: Store, clock: Clock, dump: Dump, payload: bytes
) -> None:
    """Authority ends with the lease, even before anybody noticed; a brief stays one."""
    claim = await claim_one(store, await create_one(store, input=payload), lease_ms=1000)
    await clock.advance(1000)
    before = dump()
    with pytest.raises(StaleLease) as refused:
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert refused.value.context["id"] == claim.id
    assert dump() == before


async def test_a_superseded_lease_cannot_complete(store: Store, clock: Clock, dump: Dump) -> None:
    """A holder of an older epoch changes nothing."""
    old = await claim_one(store, await create_one(store), lease_ms=1000)
    await clock.advance_and_tick(1000)
    new = await claim_one(store, old.id)
    assert new.lease.epoch > old.lease.epoch
    before = dump()
    with pytest.raises(StaleLease):
        await store.executions.complete(old.id, old.lease, b"1")
    assert dump() == before


async def test_a_revoked_lease_cannot_complete(store: Store) -> None:
    """Revocation has its own code."""
    claim = await claim_one(store, await create_one(store))
    await store.leases.revoke(claim.id, "operator")
    with pytest.raises(LeaseRevoked):
        await store.executions.complete(claim.id, claim.lease, b"1")


async def test_a_cancelled_execution_cannot_complete(store: Store) -> None:
    """The holder learns what became of its execution."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.cancel(claim.id, "enough")
    with pytest.raises(NotActive) as refused:
        await store.executions.complete(claim.id, claim.lease, b"1")
    assert refused.value.context["state"] == State.CANCELLED


async def test_completing_an_unknown_execution_is_not_found(store: Store) -> None:
    """A wrong id has its own code."""
    with pytest.raises(ExecutionNotFound):
        await store.executions.complete("nobody", Lease("x", 1, 0), b"1")


async def test_each_of_many_is_answered_on_its_own(
    store: Store, dump: Callable[[], dict[str, object]]
) -> None:
    """Plain ones, a watched one, a repetition, a stale and an unknown one, in one call."""
    made = await create_together(store, {}, {}, {"retention_ms": 5_000}, {"tenant": "other"}, {})
    tag = store.tag_of(made[0])
    held = {claim.id: claim.lease for claim in await claim_in(store, tag, limit=10)}
    await store.executions.watch(made[1], "process")
    await store.executions.complete(made[4], held[made[4]], b"0")
    stale = Lease(id="other", epoch=1, attempt=0)
    names = [*made[:4], made[0], made[4]]
    calls = [store.executions.complete(name, held[name], b"1") for name in names]
    calls.append(store.executions.complete(made[0], stale, b"1"))
    calls.append(store.executions.complete(f"{made[0]}x", stale, b"1"))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[:6] == [None] * 6
    assert [type(answer) for answer in answers[6:]] == [StaleLease, ExecutionNotFound]
    assert {await state_of(store, name) for name in made} == {State.COMPLETED}
    assert violations(dump()) == []


async def test_an_end_that_concerns_others_is_told_in_the_same_call(store: Store) -> None:
    """What makes a record not plain is acted on: here somebody watches a claimed execution."""
    claim = await claim_one(store, await create_one(store))
    record = f"{store.tag_of(claim.id)}:x:{claim.id}"
    assert await store.client.call(["TYPE", record]) == b"string"
    await store.executions.watch(claim.id, "process")
    assert await store.client.call(["HGET", record, "plain"]) == b"0"
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await store.client.call(["EXISTS", record.replace(":x:", ":w:")]) == 0


@pytest.mark.parametrize("watched", [False, True], ids=["plain", "watched"])
async def test_the_last_frames_come_with_the_end(
    store: Store, dump: Callable[[], dict[str, object]], *, watched: bool
) -> None:
    """They continue the stream, once: a repeated end and a taken place write nothing."""
    claim = await claim_one(store, await create_one(store))
    await store.streams.append(claim.id, claim.lease, [text("a", place=1)], key="k")
    if watched:
        await store.executions.watch(claim.id, "process")
    last = [
        text("a", place=1),
        text("b", place=2),
        NewFrame(type="log", payload=b'{"m":"\xc3\xa9"}'),
    ]
    for _ in range(2):
        await store.executions.complete(claim.id, claim.lease, b"1", "", last)
    assert await said(store, claim.id) == [
        (1, 0, "text", "a"),
        (2, 0, "text", "b"),
        (3, 0, "log", '{"m":"é"}'),
    ]
    assert await state_of(store, claim.id) is State.COMPLETED
    assert violations(dump()) == []


async def test_the_first_frames_can_come_with_the_end(store: Store) -> None:
    """Of a later attempt too, which opens with a frame of its own; other items have none."""
    first, second = await create_together(store, {}, {"retry": RetryPolicy(max_attempts=2)})
    held = {claim.id: claim.lease for claim in await claim_in(store, store.tag_of(first), limit=2)}
    await store.executions.fail(
        second, held[second], Failure(type="E", message="m", retry_after_ms=0)
    )
    again = await claim_one(store, second)
    await asyncio.gather(
        store.executions.complete(second, again.lease, b"1", "", [text("x"), text("y", live=True)]),
        store.executions.complete(first, held[first], b"1"),
    )
    assert await said(store, first) == []
    kinds = [(frame.id, frame.attempt, frame.type) for frame in await read_all(store, second)]
    assert kinds == [(1, 1, "attempt"), (2, 1, "text"), (3, 1, "text")]


async def test_frames_of_a_holder_that_lost_its_lease_are_not_written(store: Store) -> None:
    """The end is refused, and so are they."""
    claim = await claim_one(store, await create_one(store))
    stale = Lease(id="other", epoch=1, attempt=0)
    with pytest.raises(StaleLease):
        await store.executions.complete(claim.id, stale, b"1", "", [text("x")])
    assert await said(store, claim.id) == []


@pytest.mark.parametrize("as_before", [False, True])
async def test_quotas_are_told_of_all_that_end_together(store: Store, *, as_before: bool) -> None:
    """At once, also of one whose result a process waits for; budgets have nothing to get back."""
    await make_quota(store, max_concurrent=9)
    await make_budget(store)
    limited = {"quotas": ("q",), "budgets": ("b",)}
    ids = await create_together(store, limited, limited, {"budgets": ("b",)}, {}, limited, limited)
    tag = store.tag_of(ids[0])
    asked = wanted()
    if as_before:
        claims, grants = await claim_as_before(store, tag, asked)
        claims += await store.executions.activate(tag, asked, [(grant, None) for grant in grants])
    else:
        claims, grants = await store.executions.claim(tag, asked)
        claims += [grant.claim for grant in grants if grant.claim]
    await store.executions.watch(ids[1], "somebody")
    leases = {claim.id: claim.lease for claim in claims}
    items = [Completion(one, leases[one], b"1", None) for one in ids[:5]]
    assert await store.executions.complete_many(items) == [None] * 5
    released = [parse(entry) for entry in await store.outboxes.read(tag)]
    quotas = (LimitRef.quota("q"),)
    together = Release(f"{ids[0]} {ids[4]}", "1", "1", quotas)
    assert sorted(released, key=str) == sorted(
        (together, Release(ids[1], "1", "1", quotas)), key=str
    )
    assert await store.executions.complete_many(items) == [None] * 5
    assert len(await store.outboxes.read(tag)) == 2
    assert await state_of(store, ids[5]) is State.ACTIVE

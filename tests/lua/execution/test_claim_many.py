"""hf_execution_claim_many: what a claim hands out, and its lease. Order is tested elsewhere."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.executions import Failure, Lease
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import (
    Dump,
    claim_in,
    claim_one,
    complete_one,
    create_one,
    create_together,
    state_of,
)

FAILURE = Failure(type="e", message="m")


async def test_a_claim_hands_out_everything_the_worker_needs(store: Store, clock: Clock) -> None:
    """Input, tags, requirements, times and the lease come in one answer."""
    execution_id = await create_one(
        store,
        kind="mail/send",
        tenant="acme",
        lane="mail",
        input=b"x" * 200,
        tags={"order": "42"},
        requires=("gpu",),
        priority=7,
        deadline_ms=90_000,
        attempt_timeout_ms=20_000,
    )
    claim = await claim_one(
        store, execution_id, lanes=["mail"], capabilities=["gpu"], request="r1", lease_ms=5_000
    )
    now = clock.now_ms
    assert (claim.kind, claim.tenant, claim.lane) == ("mail/send", "acme", "mail")
    assert (claim.input, claim.tags, claim.steps) == (b"x" * 200, {"order": "42"}, {})
    assert (claim.requires, claim.priority) == (("gpu",), 7)
    assert claim.lease == Lease("r1", epoch=1, attempt=0)
    assert claim.attempt_kind is AttemptKind.INITIAL
    assert (claim.created_at, claim.expires_at) == (from_ms(now), from_ms(now + 5_000))
    assert (claim.deadline_at, claim.timeout_at) == (from_ms(now + 90_000), from_ms(now + 20_000))


@pytest.mark.parametrize("payload", [b"1", b"x" * 200], ids=["small", "large"])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"priority": -3},
        {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"},
        {"requires": ("cpu", "gpu")},
        {"tags": {"a": "b"}},
        {"retry": RetryPolicy(max_attempts=3)},
    ],
    ids=lambda fields: next(iter(fields), "nothing"),
)
async def test_a_first_claim_and_a_later_one_hand_out_the_same(
    store: Store, clock: Clock, fields: dict[str, Any], payload: bytes
) -> None:
    """The short way of a first claim leaves nothing out."""
    execution_id = await create_one(store, input=payload, **fields)
    serves = {"capabilities": ["cpu", "gpu"]}
    first = await claim_one(store, execution_id, request="r1", **serves)
    assert await claim_one(store, execution_id, request="r1", **serves) == first
    await clock.advance_and_tick(30_000)
    later = await claim_one(store, execution_id, request="r2", **serves)
    assert later.attempt_kind is AttemptKind.RECLAIM
    assert first == replace(
        later,
        lease=Lease("r1", epoch=1, attempt=0),
        attempt_kind=AttemptKind.INITIAL,
        expires_at=from_ms(clock.now_ms),
    )


async def test_one_claim_gives_executions_of_every_sort(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """First claims, a resumed one and others, in order, with their own leases, lists and timers."""
    made = await create_together(
        store,
        {"input": b"x" * 200},
        {"deadline_ms": 90_000},
        {"tenant": "other"},
        {"kind": "mail", "input": b"y" * 200},
        {},
    )
    tag = store.tag_of(made[0])
    (begun,) = await claim_in(store, tag)
    await store.executions.delay(begun.id, begun.lease, 0)
    claims = await claim_in(store, tag, request="r1", limit=10)
    assert sorted(claim.id for claim in claims) == sorted(made)
    by_id = {claim.id: claim for claim in claims}
    assert [by_id[name].input[:1] for name in made] == [b"x", b"n", b"n", b"y", b"n"]
    assert by_id[made[0]].lease == Lease("r1", epoch=2, attempt=0)
    assert {by_id[name].lease for name in made[1:]} == {Lease("r1", epoch=1, attempt=0)}
    assert {by_id[name].expires_at for name in made} == {from_ms(clock.now_ms + 30_000)}
    assert await claim_in(store, tag, request="r1", limit=10) == claims
    assert violations(dump()) == []


async def test_a_claimed_execution_is_active_on_its_worker(store: Store, clock: Clock) -> None:
    """The description shows who runs it and until when."""
    claim = await claim_one(store, await create_one(store), worker="w7", lease_ms=5_000)
    found = await store.queries.describe(claim.id)
    assert (found.state, found.worker, found.attempts) == (State.ACTIVE, "w7", 1)
    assert found.lease_expires_at == from_ms(clock.now_ms + 5_000)
    assert found.started_at == from_ms(clock.now_ms)


async def test_nothing_ready_gives_nothing(store: Store, dump: Dump) -> None:
    """An empty answer is no error and leaves no trace."""
    await create_one(store, id="r~1", delay_ms=1_000)
    before = dump()
    assert await claim_in(store, store.tag_of("r")) == []
    assert dump() == before


async def test_a_claim_takes_no_more_than_its_limit(store: Store) -> None:
    """What is left stays for the next claim; nothing is handed out twice."""
    ids = await create_together(store, *[{} for _ in range(5)])
    tag = store.tag_of(ids[0])
    first = await claim_in(store, tag, limit=3)
    second = await claim_in(store, tag, limit=3)
    assert [claim.id for claim in first] == ids[:3]
    assert [claim.id for claim in second] == ids[3:]


async def test_claims_at_the_same_moment_share_nothing(store: Store) -> None:
    """Each execution goes to one worker."""
    ids = await create_together(store, *[{} for _ in range(12)])
    tag = store.tag_of(ids[0])
    batches = await asyncio.gather(*(claim_in(store, tag, limit=2) for _ in range(10)))
    assert sorted(claim.id for batch in batches for claim in batch) == sorted(ids)


async def test_a_repeated_claim_gets_the_same_leases(store: Store, dump: Dump) -> None:
    """After a lost reply the worker gets what it was given, and nothing more."""
    ids = await create_together(store, *[{"tags": {"a": "b"}} for _ in range(4)])
    tag = store.tag_of(ids[0])
    first = await claim_in(store, tag, request="r1", limit=2)
    before = dump()
    assert await claim_in(store, tag, request="r1", limit=2) == first
    assert dump() == before


async def test_a_request_repeats_none_of_another_tenant(store: Store) -> None:
    """Both chose the same id for theirs, and each gets its own, however often."""
    ours, theirs = await create_together(store, {"tenant": "ours"}, {"tenant": "theirs"})
    tag = store.tag_of(ours)
    for _ in range(2):
        for tenant, execution_id in (("theirs", theirs), ("ours", ours)):
            (claim,) = await claim_in(store, tag, request="r1", tenant=tenant)
            assert claim.id == execution_id


async def test_a_repeated_claim_leaves_out_what_is_no_longer_held(
    store: Store, clock: Clock
) -> None:
    """Only leases that are still held come back, whoever has the rest now."""
    done, lost, held = await create_together(store, {}, {}, {})
    tag = store.tag_of(done)
    first, second, third = await claim_in(store, tag, request="r1", limit=3, lease_ms=2_000)
    await store.executions.complete(done, first.lease, b"1")
    await store.leases.renew([(held, third.lease)], 60_000)
    await clock.advance_and_tick(2_000)
    assert (await claim_one(store, lost)).lease != second.lease
    again = await claim_in(store, tag, request="r1", limit=3, lease_ms=2_000)
    assert [(claim.id, claim.lease) for claim in again] == [(held, third.lease)]


async def test_each_claim_raises_the_epoch_and_the_start_stays(store: Store, clock: Clock) -> None:
    """Retry, reclaim, resume and replay alike give a higher epoch; started is set once."""
    policy = RetryPolicy(max_attempts=9, backoff=Backoff(initial_ms=0))
    claim = await claim_one(store, await create_one(store, retry=policy))
    started = from_ms(clock.now_ms)
    await clock.advance(500)
    await store.executions.fail(claim.id, claim.lease, FAILURE)
    claim = await claim_one(store, claim.id)
    assert (claim.lease.epoch, claim.lease.attempt) == (2, 1)
    assert claim.attempt_kind is AttemptKind.RETRY
    await clock.advance_and_tick(30_000)
    claim = await claim_one(store, claim.id)
    assert (claim.lease.epoch, claim.lease.attempt) == (3, 2)
    assert claim.attempt_kind is AttemptKind.RECLAIM
    await store.executions.delay(claim.id, claim.lease, 0)
    claim = await claim_one(store, claim.id)
    assert (claim.lease.epoch, claim.lease.attempt) == (4, 2)
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.replay(claim.id, keep_steps=False, from_step="", reason="")
    claim = await claim_one(store, claim.id)
    assert (claim.lease.epoch, claim.lease.attempt) == (5, 3)
    assert claim.attempt_kind is AttemptKind.REPLAY
    assert (await store.queries.describe(claim.id)).started_at == started


async def test_a_repeated_claim_of_a_resumed_attempt_gets_the_same_lease(store: Store) -> None:
    """Going on with an attempt is remembered like opening one."""
    claim = await claim_one(store, await create_one(store))
    await store.executions.delay(claim.id, claim.lease, 0)
    resumed = await claim_one(store, claim.id, request="r2")
    assert await claim_one(store, claim.id, request="r2") == resumed


async def test_an_execution_past_its_deadline_is_not_handed_out(store: Store, clock: Clock) -> None:
    """Even when no tick has come yet; the others are not held up by it."""
    late, good = await create_together(store, {"deadline_ms": 1_000}, {})
    await clock.advance(1_000)
    (claim,) = await claim_in(store, store.tag_of(late), limit=5)
    assert claim.id == good
    assert await state_of(store, late) is State.WAITING
    await clock.advance_and_tick(0)
    assert await state_of(store, late) is State.EXPIRED


@pytest.mark.parametrize("state", ["delayed", "cancelled", "completed", "active"])
async def test_only_waiting_executions_are_handed_out(store: Store, state: str) -> None:
    """Nothing else can be claimed."""
    if state == "completed":
        execution_id = await complete_one(store)
    else:
        execution_id = await create_one(store, delay_ms=9_000 if state == "delayed" else None)
    if state == "cancelled":
        await store.executions.cancel(execution_id, "")
    if state == "active":
        await claim_one(store, execution_id)
    assert await claim_in(store, store.tag_of(execution_id)) == []
    assert await state_of(store, execution_id) == state


async def test_a_paused_lane_gives_nothing_until_it_is_open(store: Store) -> None:
    """Other lanes go on."""
    paused, other = await create_together(store, {"lane": "slow"}, {"lane": "fast"})
    await store.lanes.set_state("slow", "paused")
    tag = store.tag_of(paused)
    claims = await claim_in(store, tag, lanes=["slow", "fast"], limit=5)
    assert [claim.id for claim in claims] == [other]
    await store.lanes.set_state("slow", "open")
    claims = await claim_in(store, tag, lanes=["slow", "fast"], limit=5)
    assert [claim.id for claim in claims] == [paused]


async def test_a_draining_lane_gives_what_it_has(store: Store) -> None:
    """Draining closes the entrance, not the exit."""
    execution_id = await create_one(store)
    await store.lanes.set_state("default", "draining")
    await claim_one(store, execution_id)


async def test_a_worker_gets_work_of_its_lanes_only(store: Store) -> None:
    """A lane that nobody named gives nothing."""
    a, _, c = await create_together(store, {"lane": "a"}, {"lane": "b"}, {"lane": "c"})
    claims = await claim_in(store, store.tag_of(a), lanes=["a", "c"], limit=9)
    assert {claim.id for claim in claims} == {a, c}


async def test_a_worker_may_ask_for_one_tenant(store: Store) -> None:
    """Work of other tenants stays."""
    mine, other, mine_too = await create_together(
        store, {"tenant": "a"}, {"tenant": "b"}, {"tenant": "a", "requires": ("gpu",)}
    )
    tag = store.tag_of(mine)
    claims = await claim_in(store, tag, tenant="a", capabilities=["gpu"], limit=9)
    assert [claim.id for claim in claims] == [mine, mine_too]
    assert await claim_in(store, tag, tenant="nobody", limit=9) == []
    assert [claim.id for claim in await claim_in(store, tag, limit=9)] == [other]


@pytest.mark.parametrize(
    ("requires", "capabilities", "served"),
    [
        ((), [], True),
        ((), ["gpu"], True),
        (("gpu",), [], False),
        (("gpu",), ["gpu"], True),
        (("gpu",), ["gpu2"], False),
        (("gpu2",), ["gpu"], False),
        (("eu", "gpu"), ["gpu"], False),
        (("eu", "gpu"), ["x", "gpu", "eu"], True),
    ],
)
async def test_a_worker_must_have_all_required_capabilities(
    store: Store, requires: tuple[str, ...], capabilities: list[str], *, served: bool
) -> None:
    """A part of them is not enough; more than them does no harm."""
    execution_id = await create_one(store, requires=requires)
    tag = store.tag_of(execution_id)
    claims = await claim_in(store, tag, capabilities=capabilities)
    assert [claim.id for claim in claims] == ([execution_id] if served else [])


async def test_work_that_nobody_can_serve_does_not_block_the_rest(store: Store) -> None:
    """Older work for other workers stands in no one's way."""
    ids = await create_together(store, *[{"requires": ("tpu",)} for _ in range(50)], {}, {})
    claims = await claim_in(store, store.tag_of(ids[0]), limit=2)
    assert [claim.id for claim in claims] == ids[50:]


async def test_a_lease_id_tells_claims_of_the_same_epoch_apart(store: Store) -> None:
    """Two executions of one claim share the lease id, each with its own epoch."""
    first, _ = await create_together(store, {}, {})
    request = new_id()
    await store.leases.revoke((await claim_one(store, first)).id, "")
    claims = await claim_in(store, store.tag_of(first), request=request, limit=2)
    assert [claim.lease for claim in claims] == [Lease(request, 2, 1), Lease(request, 1, 0)]


async def test_an_execution_that_a_broken_claim_left_ready_is_reclaimed(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A library that cannot read a record breaks a claim off after it wrote the one before."""
    execution_id = await create_one(store, priority=1)
    tag = store.tag_of(execution_id)
    lease = ("state", "active", "attempts", "1", "epoch", "1", "fence", "r:1:0", "worker", "w7")
    now = str(clock.now_ms)
    times = ("due", str(clock.now_ms + 1_000), "started", now, "claimed", now)
    await store.client.call(["HSET", f"{tag}:x:{execution_id}", *lease, *times])
    assert await claim_in(store, tag) == []
    assert violations(dump()) == []
    await clock.advance_and_tick(1_000)
    claim = await claim_one(store, execution_id)
    assert (claim.lease.epoch, claim.attempt_kind) == (2, AttemptKind.RECLAIM)

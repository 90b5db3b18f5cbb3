"""Who is claimed first: lanes, tenants, priorities; the table is in test_lease_guarantees.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import InvalidInput
from holdfast.model.executions import Failure
from holdfast.model.ids import new_id
from holdfast.model.listing import Filter
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in, claim_one

Dump = Callable[[], dict[str, object]]
BOOM = Failure(type="Boom", message="boom")
AT_ONCE = RetryPolicy(max_attempts=9, backoff=Backoff(kind="fixed", initial_ms=0))

#: A minted id belongs to no tenant: what starts with it lives in one partition.
ROOT = new_id()


async def test_a_head_that_cannot_be_served_starves_nobody(engine: Engine) -> None:
    """A thousand points of priority do not let work that nobody can do hide work behind it."""
    for number in range(50):
        await engine.submit("work", id=f"root~h{number}", priority=1_000, requires=["quantum"])
    served = await engine.submit("work", id="root~plain", priority=-1_000)
    claim = await claim_one(engine.store, served.id, capabilities=["gpu"])
    assert claim.id == served.id


async def test_one_worker_must_have_all_capabilities(engine: Engine) -> None:
    """Two workers that have them together do not get it, one that has more does."""
    made = await engine.submit("work", requires=["eu", "gpu"])
    tag = engine.store.tag_of(made.id)
    for capabilities in ([], ["eu"], ["gpu"], ["eu.gpu"], ["gpu", "e"]):
        assert await claim_in(engine.store, tag, capabilities=capabilities) == []
    claim = await claim_one(engine.store, made.id, capabilities=["gpu", "fast", "eu"])
    assert claim.requires == ("eu", "gpu")


async def test_a_claim_that_finds_nothing_writes_nothing(engine: Engine, dump: Dump) -> None:
    """Polling by a worker that cannot serve costs no write, counts nothing, moves nothing."""
    made = await engine.submit("work", requires=["gpu"])
    await engine.submit("work", id=f"{made.id}~2", lane="other")
    before = dump()
    for _ in range(20):
        assert await claim_in(engine.store, engine.store.tag_of(made.id)) == []
    assert dump() == before


@pytest.mark.parametrize("bad", ["a,b", "a\nb", "a b", "", None, 42, True, b"gpu", ["gpu"], "ü"])
async def test_bad_capabilities_are_refused_everywhere(
    engine: Engine, dump: Dump, bad: Any
) -> None:
    """Submitting, claiming and registering share one validator; nothing is dropped."""
    before = dump()
    with pytest.raises(InvalidInput, match=r"requires\[1\]"):
        await engine.submit("work", requires=["gpu", bad])
    with pytest.raises(InvalidInput, match=r"capabilities\[1\]"):
        async with engine.claimer(worker="w", capabilities=["gpu", bad]):
            pass
    with pytest.raises(InvalidInput, match=r"capabilities\[1\]"):
        await engine.workers.register("i", worker="w", lanes=["a"], capabilities=["gpu", bad])
    assert dump() == before


async def test_a_lane_needs_no_announcement(engine: Engine, clock: Clock) -> None:
    """Delays, retries, reclaims, deadlines and retention run on a lane that nobody listed."""
    made = await engine.submit(
        "work", lane="never.seen", delay_ms=1_000, retry=AT_ONCE, retention_ms=1_000
    )
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id, lanes=["never.seen"], lease_ms=1_000)
    await engine.fail(made.id, claim.lease, BOOM)
    await claim_one(engine.store, made.id, lanes=["never.seen"], lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id, lanes=["never.seen"])
    await engine.complete(made.id, claim.lease)
    await clock.advance_and_tick(1_000)
    assert await engine.count() == []


async def test_low_priority_gets_old_enough_to_run(engine: Engine, clock: Clock) -> None:
    """A point of priority is worth a minute: after that long, age wins over newer high work."""
    old = await engine.submit("work", id="root~old", priority=-5)
    await clock.advance(5 * 60_000 - 1_000)
    await engine.submit("work", id="root~new1")
    claim = await claim_one(engine.store, "root~new1")
    await engine.complete(claim.id, claim.lease)
    await clock.advance(2_000)
    await engine.submit("work", id="root~new2")
    (claim,) = await claim_in(engine.store, engine.store.tag_of(old.id))
    assert claim.id == old.id


async def test_high_priority_goes_first_and_negative_is_not_lifted(engine: Engine) -> None:
    """The order is that of the numbers, below zero as above."""
    for priority in (0, -2, 3, -1, 1_000, -1_000, 1):
        await engine.submit("work", id=f"root~{priority}", priority=priority)
    claims = await claim_in(engine.store, engine.store.tag_of("root"), limit=9)
    assert [claim.priority for claim in claims] == [1_000, 3, 1, 0, -1, -2, -1_000]


async def test_work_that_comes_back_keeps_its_place(engine: Engine, clock: Clock) -> None:
    """Retried and reclaimed work is not sent to the end of the queue."""
    first = await engine.submit("work", id="root~1", retry=AT_ONCE)
    await clock.advance(1)
    await engine.submit("work", id="root~2")
    claim = await claim_one(engine.store, first.id)
    await engine.fail(first.id, claim.lease, BOOM)
    claim = await claim_one(engine.store, first.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    assert (await claim_one(engine.store, first.id)).attempt_kind is AttemptKind.RECLAIM


async def test_one_tenant_cannot_fill_the_system(engine: Engine) -> None:
    """However much one tenant submits, and however early, the others get their turn."""
    for number in range(60):
        await engine.submit("work", id=f"{ROOT}~big{number}", tenant="big", priority=10)
    for number in range(10):
        await engine.submit("work", id=f"{ROOT}~small{number}", tenant="small")
    tag = engine.store.tag_of(ROOT)
    claims = await claim_in(engine.store, tag, limit=20)
    assert Counter(claim.tenant for claim in claims) == {"big": 10, "small": 10}


async def test_weights_divide_the_turns(engine: Engine) -> None:
    """A tenant of weight 3 gets three turns for each of the other."""
    await engine.lanes.set_weights("default", {"big": 3})
    for number in range(80):
        tenant = "big" if number % 2 else "small"
        await engine.submit("work", id=f"{ROOT}~{number}", tenant=tenant)
    claims = []
    for _ in range(40):
        claims += await claim_in(engine.store, engine.store.tag_of(ROOT))
    assert Counter(claim.tenant for claim in claims) == {"big": 30, "small": 10}


async def test_one_claim_takes_fresh_retried_resumed_and_reclaimed(
    engine: Engine, clock: Clock
) -> None:
    """A worker has one way to get work, whatever its past."""
    for name in ("reclaimed", "retried", "resumed", "replayed"):
        made = await engine.submit("work", id=f"root~{name}", retry=AT_ONCE)
        claim = await claim_one(engine.store, made.id, lease_ms=1_000)
        if name == "retried":
            await engine.fail(made.id, claim.lease, BOOM)
        if name == "resumed":
            await engine.delay(made.id, claim.lease, 500)
        if name == "replayed":
            await engine.complete(made.id, claim.lease)
            await engine.replay(made.id)
        if name == "retried":
            await engine.lanes.pause("default")
            await engine.lanes.resume("default")
            held = await claim_one(engine.store, made.id)
            await engine.fail(made.id, held.lease, Failure(type="E", message="", retry_after_ms=9))
    await engine.submit("work", id="root~fresh", delay_ms=900)
    await clock.advance_and_tick(1_000)
    claims = await claim_in(engine.store, engine.store.tag_of("root"), limit=9)
    kinds = {claim.id.partition("~")[2]: claim.attempt_kind for claim in claims}
    assert kinds == {
        "reclaimed": AttemptKind.RECLAIM,
        "retried": AttemptKind.RETRY,
        "resumed": AttemptKind.INITIAL,
        "replayed": AttemptKind.REPLAY,
        "fresh": AttemptKind.INITIAL,
    }


async def test_a_claim_repeated_after_a_lost_reply_gets_the_same_leases(engine: Engine) -> None:
    """The same request id is the same claim, and takes no further work."""
    for number in range(4):
        await engine.submit("work", id=f"root~{number}")
    tag = engine.store.tag_of("root")
    first = await claim_in(engine.store, tag, request="r1", limit=2)
    again = await claim_in(engine.store, tag, request="r1", limit=2)
    assert again == first
    assert len(await claim_in(engine.store, tag, limit=9)) == 2


async def _check_unit(engine: Engine, execution_id: str, expected: State) -> None:
    """State, vector, count and list must tell the same."""
    known = await engine.describe(execution_id)
    assert known.state is expected
    vector = known.state_vector
    assert (vector.lifecycle_phase == "active") == (expected is State.ACTIVE)
    assert (vector.ownership == "leased") == (known.worker is not None)
    assert (known.lease_expires_at is not None) == (expected is State.ACTIVE)
    assert (known.run_at is not None) == (expected is State.DELAYED) == (known.hold is not None)
    assert (known.completed_at is not None) == expected.is_terminal
    assert (known.forget_at is not None) == expected.is_terminal
    assert [c.state for c in await engine.count()] == [expected]
    page = await engine.list(Filter(state=expected))
    assert [one.id for one in page.items] == [execution_id]


async def test_the_state_is_written_as_a_unit_at_every_step(engine: Engine, clock: Clock) -> None:
    """After each of a dozen transitions no part of the record or of an index lags behind."""
    policy = RetryPolicy(max_attempts=9, backoff=Backoff(kind="fixed", initial_ms=1_000))
    made = await engine.submit("work", delay_ms=1_000, retry=policy, attempt_timeout_ms=9_000)
    await _check_unit(engine, made.id, State.DELAYED)
    await clock.advance_and_tick(1_000)
    await _check_unit(engine, made.id, State.WAITING)
    claim = await claim_one(engine.store, made.id)
    await _check_unit(engine, made.id, State.ACTIVE)
    await engine.fail(made.id, claim.lease, BOOM)
    await _check_unit(engine, made.id, State.DELAYED)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    await _check_unit(engine, made.id, State.WAITING)
    claim = await claim_one(engine.store, made.id)
    await engine.delay(made.id, claim.lease, 1_000)
    await _check_unit(engine, made.id, State.DELAYED)
    await clock.advance_and_tick(1_000)
    claim = await claim_one(engine.store, made.id)
    await engine.revoke_lease(made.id)
    await _check_unit(engine, made.id, State.WAITING)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease)
    await _check_unit(engine, made.id, State.COMPLETED)
    await engine.replay(made.id)
    await _check_unit(engine, made.id, State.WAITING)
    await engine.cancel(made.id)
    await _check_unit(engine, made.id, State.CANCELLED)

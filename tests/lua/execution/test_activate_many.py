"""hf_execution_activate_many, and grants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.model.executions import Lease
from holdfast.model.limit_refs import LimitRef
from holdfast.model.moments import from_ms
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store.grants import Grant, Verdict
from holdfast.store.outboxes import Release, parse
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one, create_together, state_of
from tests.support.limits import claim_as_before, grant_one, make_budget, make_quota, wanted


async def test_a_claim_of_limited_work_is_a_grant(store: Store) -> None:
    """It is nobody's yet, and nobody else can claim it."""
    await make_quota(store)
    await make_budget(store, "root")
    await make_budget(store, parent="root")
    execution_id = await create_one(store, quotas=("q",), budgets=("b", "root"))
    _, grant = await grant_one(store, execution_id)
    assert grant == Grant(execution_id, 1, "b:root~b\nb:root\nq:q")
    root = LimitRef("budget", "root")
    assert grant.of("budget") == [root.ancestor("b"), root]
    assert grant.of("quota") == [LimitRef.quota("q")]
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold, found.attempts) == (State.WAITING, Hold.GRANT, 0)
    assert await store.executions.claim(store.tag_of(execution_id), wanted()) == ([], [])


async def test_what_is_admitted_is_leased_under_the_epoch_of_its_grant(
    store: Store, clock: Clock
) -> None:
    """The lease starts now, not when the grant was given."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",), input=b"in", tags={"a": "b"})
    asked, grant = await grant_one(store, execution_id)
    await clock.advance(1_000)
    tag = store.tag_of(execution_id)
    (claim,) = await store.executions.activate(tag, asked, [(grant, None)])
    assert claim.lease == Lease(asked.request, 1, 0)
    assert (claim.input, claim.tags, claim.quotas) == (b"in", {"a": "b"}, ("q",))
    assert (claim.attempt_kind, claim.expires_at) == (
        AttemptKind.INITIAL,
        from_ms(clock.now_ms + 30_000),
    )
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await state_of(store, execution_id) is State.COMPLETED


async def test_what_is_not_admitted_is_rate_limited(store: Store, clock: Clock) -> None:
    """By which limit, until when, and in the history."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    held = Verdict(blocker=LimitRef.quota("q"), retry_at=clock.now_ms + 700)
    tag = store.tag_of(execution_id)
    assert await store.executions.activate(tag, asked, [(grant, held)]) == []
    found = await store.queries.describe(execution_id)
    assert (found.state, found.hold, found.blocked_by) == (State.RATE_LIMITED, Hold.QUOTA, "q")
    assert found.retry_at == from_ms(clock.now_ms + 700)
    assert found.state_vector.blocking_reason == "waiting_for_quota"
    assert [event.event for event in await store.queries.history(execution_id)] == [
        "created",
        "rate_limited",
    ]
    assert await store.executions.claim(tag, wanted()) == ([], [])


async def test_a_repeated_call_gets_the_same_leases(store: Store, dump: Dump) -> None:
    """A lost reply loses no lease."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    first = await store.executions.activate(tag, asked, [(grant, None)])
    before = dump()
    assert await store.executions.activate(tag, asked, [(grant, None)]) == first
    assert dump() == before


async def test_a_lease_is_returned_again_though_the_limits_refuse_it_now(
    store: Store, dump: Dump
) -> None:
    """They admitted the grant before, and the worker runs the execution."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    first = await store.executions.activate(tag, asked, [(grant, None)])
    before = dump()
    refusal = Verdict(blocker=LimitRef.quota("q"))
    assert await store.executions.activate(tag, asked, [(grant, refusal)]) == first
    assert dump() == before


async def test_a_repeated_claim_gets_the_same_grants(store: Store, dump: Dump) -> None:
    """With their leases, once they are activated; the first repetition is noted."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    assert await store.executions.claim(tag, asked) == ([], [grant])
    noted = dump()
    assert await store.executions.claim(tag, asked) == ([], [grant])
    assert dump() == noted
    (claim,) = await store.executions.activate(tag, asked, [(grant, None)])
    assert await store.executions.claim(tag, asked) == ([], [replace(grant, claim=claim)])


async def test_a_grant_that_nobody_uses_returns_by_timer(store: Store, clock: Clock) -> None:
    """Its limits learn that it came to nothing, and the next grant has another epoch."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    await clock.advance_and_tick(4_999)
    tag = store.tag_of(execution_id)
    assert await store.executions.claim(tag, wanted()) == ([], [])
    await clock.advance_and_tick(1)
    (entry,) = await store.outboxes.read(tag)
    assert parse(entry) == parse(f"r\n{execution_id}\n1\n0\nq:q".encode())
    _, again = await grant_one(store, execution_id)
    assert again.epoch == 2
    assert await store.executions.activate(tag, asked, [(grant, None)]) == []


async def test_a_cancelled_grant_cannot_be_used(store: Store) -> None:
    """Cancel wins, and the limits learn of it."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    await store.executions.cancel(execution_id, "")
    tag = store.tag_of(execution_id)
    assert await store.executions.activate(tag, asked, [(grant, None)]) == []
    assert len(await store.outboxes.read(tag)) == 1
    assert await state_of(store, execution_id) is State.CANCELLED


async def test_a_deadline_holds_for_grants_and_for_the_rate_limited(
    store: Store, clock: Clock
) -> None:
    """Both expire in time, and say so to their limits."""
    await make_quota(store)
    for blocked in (False, True):
        execution_id = await create_one(store, quotas=("q",), deadline_ms=1_000)
        asked, grant = await grant_one(store, execution_id)
        tag = store.tag_of(execution_id)
        if blocked:
            held = Verdict(blocker=LimitRef.quota("q"))
            await store.executions.activate(tag, asked, [(grant, held)])
        await clock.advance(1_000)
        assert await store.executions.activate(tag, asked, [(grant, None)]) == []
        await clock.tick()
        assert await state_of(store, execution_id) is State.EXPIRED
        entries = await store.outboxes.read(tag)
        (word,) = map(parse, entries)
        assert isinstance(word, Release)
        assert word.executions == execution_id
        await store.outboxes.clear(tag, entries)


async def test_limits_that_may_have_admitted_are_told_of_a_refusal(store: Store) -> None:
    """Those that were asked before the one that refused."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    held = Verdict(blocker=LimitRef.quota("q"), touched=(LimitRef.quota("x"), LimitRef.quota("y")))
    tag = store.tag_of(execution_id)
    await store.executions.activate(tag, asked, [(grant, held)])
    (entry,) = await store.outboxes.read(tag)
    assert entry == f"r\n{execution_id}\n1\n0\nq:x\nq:y".encode()


async def test_one_that_could_not_be_asked_about_looks_again_soon(
    store: Store, clock: Clock
) -> None:
    """By its own timer, because nobody will wake it."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    held = Verdict(blocker=LimitRef.quota("q"), after_ms=1_500)
    await store.executions.activate(store.tag_of(execution_id), asked, [(grant, held)])
    await clock.advance_and_tick(1_499)
    assert await state_of(store, execution_id) is State.RATE_LIMITED
    await clock.advance_and_tick(1)
    assert await state_of(store, execution_id) is State.WAITING


async def test_one_that_is_never_woken_looks_by_itself_in_the_end(
    store: Store, clock: Clock
) -> None:
    """A failover may have lost its place in the queue."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    await store.executions.activate(tag, asked, [(grant, Verdict(blocker=LimitRef.quota("q")))])
    await clock.advance_and_tick(299_000)
    assert await state_of(store, execution_id) is State.RATE_LIMITED
    await clock.advance_and_tick(301_000)
    assert await state_of(store, execution_id) is State.WAITING


async def test_operators_can_prioritize_what_is_rate_limited(store: Store) -> None:
    """It counts when it is ready again."""
    await make_quota(store)
    execution_id = await create_one(store, id="r~1", quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    await store.executions.activate(tag, asked, [(grant, Verdict(blocker=LimitRef.quota("q")))])
    first = await create_one(store, id="r~2", priority=5)
    assert await store.executions.prioritize(execution_id, 10) == 0
    await store.executions.unblock(tag, [(execution_id, "q:q")])
    await grant_one(store, execution_id)
    await claim_one(store, first)


async def test_many_are_granted_and_leased_together(store: Store) -> None:
    """Each with its own input and limits, whatever else is particular about it."""
    await make_quota(store, max_concurrent=9)
    await make_budget(store)
    items: list[dict[str, Any]] = [
        {"quotas": ("q",), "input": b"1"},
        {"quotas": ("q",), "budgets": ("b",), "input": b"2" * 500, "priority": 3},
        {"budgets": ("b",), "requires": ("gpu",), "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"},
        {"quotas": ("q",), "tags": {"a": "b"}},
        {"budgets": ("b",), "attempt_timeout_ms": 5_000},
        {},
    ]
    ids = await create_together(store, *items)
    tag = store.tag_of(ids[0])
    asked = wanted(capabilities=["gpu"])
    plain, grants = await claim_as_before(store, tag, asked)
    assert [claim.id for claim in plain] == ids[-1:]
    claims = await store.executions.activate(tag, asked, [(grant, None) for grant in grants])
    found = {claim.id: claim for claim in claims}
    assert sorted(found) == sorted(ids[:-1])
    for execution_id, item in zip(ids, items[:-1], strict=False):
        claim = found[execution_id]
        assert claim.lease == Lease(asked.request, 1, 0)
        assert claim.budgets == item.get("budgets", ())
        assert claim.quotas == item.get("quotas", ())
        assert claim.input == item.get("input", b"null")
        assert claim.priority == item.get("priority", 0)
        assert claim.requires == item.get("requires", ())
        assert claim.traceparent == item.get("traceparent")
        assert (claim.timeout_at is None) == ("attempt_timeout_ms" not in item)
        assert await state_of(store, execution_id) is State.ACTIVE


async def test_a_grant_after_one_that_ran_out_has_an_epoch_of_its_own(
    store: Store, clock: Clock
) -> None:
    """The first cannot be used any more."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    first, lost = await grant_one(store, execution_id)
    await clock.advance_and_tick(5_000)
    asked, grant = await grant_one(store, execution_id)
    assert grant.epoch == 2
    tag = store.tag_of(execution_id)
    assert await store.executions.activate(tag, first, [(lost, None)]) == []
    (claim,) = await store.executions.activate(tag, asked, [(grant, None)])
    assert claim.lease == Lease(asked.request, 2, 0)
    await store.executions.complete(execution_id, claim.lease, b"1")
    assert await state_of(store, execution_id) is State.COMPLETED


async def test_one_that_was_cancelled_during_its_grant_is_not_leased(store: Store) -> None:
    """Its limits learn that it did not start."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    await store.executions.cancel(execution_id, "")
    tag = store.tag_of(execution_id)
    assert await store.executions.activate(tag, asked, [(grant, None)]) == []
    (entry,) = await store.outboxes.read(tag)
    assert parse(entry) == Release(execution_id, "1", "0", (LimitRef.quota("q"),))


async def test_a_repeated_claim_leaves_out_grants_that_are_over(store: Store, clock: Clock) -> None:
    """Another claim may have them."""
    await make_quota(store)
    execution_id = await create_one(store, quotas=("q",))
    asked, grant = await grant_one(store, execution_id)
    tag = store.tag_of(execution_id)
    assert await store.executions.claim(tag, asked) == ([], [grant])
    await clock.advance_and_tick(5_000)
    assert await store.executions.claim(tag, asked) == ([], [])


async def test_those_that_are_never_woken_do_not_look_together(store: Store, clock: Clock) -> None:
    """They are spread over five minutes."""
    await make_quota(store)
    ids = [await create_one(store, id=f"r~{n}", quotas=("q",)) for n in range(20)]
    tag, asked = store.tag_of(ids[0]), wanted()
    _, grants = await store.executions.claim(tag, asked)
    held = [(grant, Verdict(blocker=LimitRef.quota("q"))) for grant in grants]
    await store.executions.activate(tag, asked, held)
    await clock.advance_and_tick(450_000)
    states = [await state_of(store, one) for one in ids]
    assert 5 < states.count(State.WAITING) < 15
    await clock.advance_and_tick(150_000)
    assert {await state_of(store, one) for one in ids} == {State.WAITING}

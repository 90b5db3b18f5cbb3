"""Admission: limits are asked before anything starts, and told when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.errors import BudgetNotFound, HoldfastError, QuotaNotFound, StoreUnavailable
from holdfast.model.executions import Claim, Failure, NewExecution
from holdfast.model.quotas import Quota
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.fault_injection import meanwhile
from tests.support.lifecycle import create_one, create_together
from tests.support.limits import (
    claim_all,
    claim_one_limited,
    lease_one,
    make_budget,
    make_quota,
    report,
    wanted,
)  # fmt: skip


@pytest.fixture
async def single_engine(single_store: Store) -> AsyncIterator[Engine]:
    """An engine on one partition, where order is exact."""
    engine = Engine(single_store)
    yield engine
    await engine.close()


async def _running(engine: Engine, quota: str = "q") -> int:
    return (await engine.quotas.get(quota)).running


async def _states(engine: Engine, ids: Sequence[str]) -> list[State]:
    return [(await engine.describe(one)).state for one in ids]


async def _end(engine: Engine, clock: Clock, claim: Claim, how: str) -> None:
    """End an attempt in one of the ways that there are."""
    if how == "complete":
        await engine.complete(claim.id, claim.lease)
    elif how in {"fail", "retry"}:
        await engine.fail(claim.id, claim.lease, Failure(type="e", message="m"))
    elif how == "delay":
        await engine.delay(claim.id, claim.lease, 5_000)
    elif how == "cancel":
        await engine.cancel(claim.id)
    elif how == "revoke":
        await engine.revoke_lease(claim.id)
    else:
        await clock.advance_and_tick({"timeout": 1_000, "deadline": 2_000, "death": 30_000}[how])
    await engine.courier.settle()


@pytest.mark.parametrize(
    "how",
    ["complete", "fail", "retry", "delay", "cancel", "revoke", "timeout", "deadline", "death"],
)
async def test_a_place_is_free_again_on_every_exit(engine: Engine, clock: Clock, how: str) -> None:
    """And the next who waits has it."""
    await make_quota(engine.store)
    fields: dict[str, object] = {"quotas": ("q",)}
    if how == "retry":
        fields["retry"] = RetryPolicy(max_attempts=2)
    if how == "timeout":
        fields["attempt_timeout_ms"] = 1_000
    if how == "deadline":
        fields["deadline_ms"] = 2_000
    claim = await claim_one_limited(engine, await create_one(engine.store, **fields))
    waiting = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine) == []
    assert await _running(engine) == 1
    await _end(engine, clock, claim, how)
    await engine.courier.carry_all()
    assert await _running(engine) == 0
    assert (await engine.describe(waiting)).state is State.WAITING
    claims = await claim_all(engine)
    assert waiting in {one.id for one in claims}
    assert await _running(engine) == 1


async def test_no_more_than_the_limit_run_and_all_get_their_turn(engine: Engine) -> None:
    """First come, first served, whatever partition they are in."""
    await make_quota(engine.store, max_concurrent=3)
    ids = [await create_one(engine.store, quotas=("q",)) for _ in range(20)]
    done: list[str] = []
    while len(done) < len(ids):
        claims = await claim_all(engine)
        assert 0 < len(claims) <= 3
        assert await _running(engine) == len(claims)
        for claim in claims:
            await engine.complete(claim.id, claim.lease)
            done.append(claim.id)
        await engine.courier.settle()
        await engine.courier.carry_all()
    assert sorted(done) == sorted(ids)
    found = await engine.quotas.get("q")
    assert (found.running, found.waiting, found.promised) == (0, 0, 0)


async def test_order_is_kept_on_one_partition(single_engine: Engine) -> None:
    """The order of the queue is that of claims, so that of age."""
    engine = single_engine
    await make_quota(engine.store)
    ids = [await create_one(engine.store, quotas=("q",)) for _ in range(6)]
    done = []
    for _ in ids:
        (claim,) = await claim_all(engine)
        await engine.complete(claim.id, claim.lease)
        await engine.courier.settle()
        await engine.courier.carry_all()
        done.append(claim.id)
    assert done == ids


async def test_all_quotas_must_admit(engine: Engine) -> None:
    """What one gave returns when another refuses, its start included."""
    for name in ("a", "b", "c", "d"):
        await make_quota(engine.store, name, max_per_window=10, window_ms=60_000, max_concurrent=5)
    await make_quota(engine.store, "z-full", max_concurrent=1)
    names = ("a", "b", "c", "d", "z-full")
    first = await create_one(engine.store, quotas=names)
    await claim_one_limited(engine, first)
    second = await create_one(engine.store, quotas=names)
    assert await claim_all(engine) == []
    await engine.courier.settle()
    found = await engine.describe(second)
    assert (found.state, found.blocked_by) == (State.RATE_LIMITED, "z-full")
    for name in ("a", "b", "c", "d"):
        quota = await engine.quotas.get(name)
        assert (quota.running, quota.in_window) == (1, 1)


async def test_room_that_was_promised_returns_when_another_quota_refuses(engine: Engine) -> None:
    """Nobody keeps a place that it cannot use; the next has it at once."""
    await make_quota(engine.store, "a")
    await make_quota(engine.store, "b", max_concurrent=1)
    holder = await claim_one_limited(engine, await create_one(engine.store, quotas=("a",)))
    both = await create_one(engine.store, quotas=("a", "b"))
    assert await claim_all(engine) == []
    await claim_one_limited(engine, await create_one(engine.store, quotas=("b",)))
    next_one = await create_one(engine.store, quotas=("a",))
    assert await claim_all(engine) == []
    await engine.complete(holder.id, holder.lease)
    claimed: list[str] = []
    for _ in range(3):
        await engine.courier.settle()
        await engine.courier.carry_all()
        claimed += [claim.id for claim in await claim_all(engine)]
    assert claimed == [next_one]
    assert (await engine.describe(both)).blocked_by == "b"


async def test_a_window_is_honoured_by_timer(engine: Engine, clock: Clock) -> None:
    """The quota itself knows when there is room; nobody asks in between."""
    await make_quota(engine.store, max_per_window=2, window_ms=10_000)
    ids = [await create_one(engine.store, quotas=("q",)) for _ in range(5)]
    assert len(await claim_all(engine)) == 2
    blocked = [one for one in ids if (await engine.describe(one)).state is State.RATE_LIMITED]
    assert len(blocked) == 3
    assert (await engine.describe(blocked[0])).retry_at is not None
    await clock.advance_and_tick(9_999)
    await engine.courier.carry_all()
    assert await claim_all(engine) == []
    await clock.advance_and_tick(1)
    await engine.courier.carry_all()
    assert len(await claim_all(engine)) == 2
    assert len(await claim_all(engine)) == 0


async def test_an_exhausted_budget_keeps_work_from_starting(engine: Engine) -> None:
    """It shows itself, explains itself, and goes on when the budget is raised or reset."""
    store = engine.store
    await make_budget(store, "top", hard=10)
    await make_budget(store, parent="top", hard=50)
    await report(store, 10)
    ids = [await create_one(store, budgets=("b",)) for _ in range(2)]
    assert await claim_all(engine) == []
    for one in ids:
        found = await engine.describe(one)
        assert (found.state, found.hold, found.blocked_by) == (
            State.RATE_LIMITED,
            Hold.BUDGET,
            "top",
        )
        assert found.state_vector.eligibility == "blocked_by_budget"
    explanation = await engine.explain(ids[0])
    assert "budget top: 10 of 10 tokens are used up" in explanation.why
    (hold,) = explanation.holds
    expected = {"type": "budget", "id": "top", "dimension": "tokens", "current": 10, "limit": 10}
    assert dict(hold) == expected
    await engine.budgets.set("top", {"tokens": {"hard": 11}})
    await engine.courier.settle()
    assert {one.id for one in await claim_all(engine)} == set(ids)


async def test_explain_names_the_quota(engine: Engine) -> None:
    """How many run, how many wait, and when a window has room."""
    await make_quota(engine.store, "slots", max_concurrent=1)
    await make_quota(engine.store, "rate", max_per_window=1, window_ms=1_000)
    for name in ("slots", "rate"):
        await claim_one_limited(engine, await create_one(engine.store, quotas=(name,)))
    for name, said in (
        ("slots", "It waits for quota slots: 1 of 1 run now, and 1 wait."),
        ("rate", "It waits for quota rate: 1 have started of 1 in 1000 ms, and 1 wait."),
    ):
        execution_id = await create_one(engine.store, quotas=(name,))
        assert await claim_all(engine) == []
        explanation = await engine.explain(execution_id)
        assert explanation.why == said
        assert (explanation.holds[0]["type"], explanation.holds[0]["id"]) == ("quota", name)
        assert ("retry_at" in explanation.holds[0]) == (name == "rate")


async def test_explain_leads_from_a_full_quota_to_a_worker(engine: Engine) -> None:
    """The chain: the quota, the execution that has held a slot the longest, and its worker."""
    await make_quota(engine.store, max_concurrent=1)
    claim = await claim_one_limited(engine, await create_one(engine.store, quotas=("q",)))
    waiting = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine) == []
    explanation = await engine.explain(waiting)
    assert [hold["type"] for hold in explanation.holds] == ["quota", "holder", "lease"]
    worker = (await engine.describe(claim.id)).worker
    assert explanation.targets == [
        {"noun": "quota", "id": "q"},
        {"noun": "execution", "id": claim.id},
        {"noun": "worker", "id": worker},
    ]


async def test_a_page_of_reasons_reads_lines_and_limits_once(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call for a partition, and one for a limit, however many rows wait for it."""
    await make_quota(engine.store, max_concurrent=1)
    await claim_one_limited(engine, await create_one(engine.store, quotas=("q",)))
    held = [await create_one(engine.store, quotas=("q",)) for _ in range(3)]
    assert await claim_all(engine) == []
    lined_up = [await create_one(engine.store) for _ in range(20)]
    called: list[str] = []
    read = engine.store.caller.read

    async def noted(function: str, *args: Any, **options: Any) -> Any:
        called.append(function)
        return await read(function, *args, **options)

    monkeypatch.setattr(engine.store.caller, "read", noted)
    page = await engine.list(whys=True)
    assert {*held, *lined_up} <= page.whys.keys()
    places = {engine.store.tag_of(one) for one in lined_up}
    assert called.count("hf_execution_explain_all") == len(places)
    assert called.count("hf_execution_explain") == 0
    assert called.count("hf_quota_get") == 1
    monkeypatch.undo()
    for one in (held[0], lined_up[3]):
        assert page.whys[one] == (await engine.explain(one)).why


async def test_a_cancelled_waiter_holds_up_nobody(engine: Engine) -> None:
    """Its place in the queue goes with it."""
    await make_quota(engine.store)
    claim = await claim_one_limited(engine, await create_one(engine.store, quotas=("q",)))
    first = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine) == []
    second = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine) == []
    await engine.cancel(first)
    await engine.courier.settle()
    assert (await engine.quotas.get("q")).waiting == 1
    await engine.complete(claim.id, claim.lease)
    await engine.courier.settle()
    await claim_one_limited(engine, second)


@pytest.mark.parametrize("how", ["cancelled", "expired"])
async def test_a_promised_place_passes_on_at_once(engine: Engine, clock: Clock, how: str) -> None:
    """It was promised to one that ended before it was claimed again; nobody waits ten seconds."""
    await make_quota(engine.store)
    claim = await claim_one_limited(engine, await create_one(engine.store, quotas=("q",)))
    first = await create_one(engine.store, quotas=("q",), deadline_ms=1_000)
    assert await claim_all(engine) == []
    second = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine) == []
    await engine.complete(claim.id, claim.lease)
    await engine.courier.settle()
    assert await _states(engine, [first, second]) == [State.WAITING, State.RATE_LIMITED]
    if how == "cancelled":
        await engine.cancel(first)
    else:
        await clock.advance_and_tick(1_000)
        await engine.courier.carry_all()
    await engine.courier.settle()
    await claim_one_limited(engine, second)
    assert (await engine.quotas.get("q")).running == 1


async def test_unknown_limits_are_refused_at_submission(engine: Engine) -> None:
    """Each item of a batch by itself."""
    await make_quota(engine.store)
    said = r"no quota is called none \(task work names it\): create it with `holdfast quotas create"
    with pytest.raises(QuotaNotFound, match=said):
        await engine.submit("work", quotas=["none"])
    said = r"no budget is called none \(task work names it\): create it with `holdfast budgets"
    with pytest.raises(BudgetNotFound, match=said):
        await engine.submit("work", budgets=["none"])
    items = [NewExecution(kind="work", quotas=(name,)) for name in ("q", "none", "q")]
    answers = await engine.submit_many(items)
    assert [isinstance(one, HoldfastError) for one in answers] == [False, True, False]


async def test_nothing_starts_when_a_quota_cannot_be_reached(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails closed, looks again soon, and the quota learns that nothing started."""
    await make_quota(engine.store)
    plain = await create_one(engine.store)
    execution_id = await create_one(engine.store, quotas=("q",))
    admit = engine.store.quotas.admit

    async def lose_the_answer(*args: object) -> None:
        await admit(*args)  # type: ignore[arg-type]
        raise StoreUnavailable("away")

    monkeypatch.setattr(engine.store.quotas, "admit", lose_the_answer)
    assert [one.id for one in await claim_all(engine)] == [plain]
    await engine.courier.settle()
    assert (await engine.describe(execution_id)).state is State.RATE_LIMITED
    assert await _running(engine) == 0
    monkeypatch.undo()
    await clock.advance_and_tick(2_000)
    await claim_one_limited(engine, execution_id)


async def test_a_quota_that_does_not_answer_holds_up_nobody_for_long(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim ends within the time of a grant."""
    monkeypatch.setattr("holdfast.engine.admission.ASK_TIMEOUT_S", 0.01)
    await make_quota(engine.store)
    execution_id = await create_one(engine.store, quotas=("q",))

    async def hang(*_args: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(engine.store.quotas, "admit", hang)
    monkeypatch.setattr(engine.store.budgets, "admit", hang)
    async with asyncio.timeout(5):
        assert await claim_all(engine) == []
    assert (await engine.describe(execution_id)).state is State.RATE_LIMITED


async def test_a_deleted_quota_frees_whoever_waits(engine: Engine) -> None:
    """Those who run are not disturbed."""
    await make_quota(engine.store)
    running = await claim_one_limited(engine, await create_one(engine.store, quotas=("q",)))
    waiting = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine) == []
    await engine.quotas.delete("q")
    await engine.courier.settle()
    await claim_one_limited(engine, waiting)
    await engine.complete(running.id, running.lease)
    await engine.courier.settle()


async def test_a_tag_is_a_concurrency_key(engine: Engine) -> None:
    """One at a time for each customer; customers do not hold up each other."""
    await make_quota(engine.store, "one-each")
    await engine.quotas.rules.attach("one-each", tag="customer")
    ids = {
        customer: [await create_one(engine.store, tags={"customer": customer}) for _ in range(3)]
        for customer in ("a", "b")
    }
    claims = await claim_all(engine)
    assert sorted(claim.tags["customer"] for claim in claims) == ["a", "b"]
    for claim in claims:
        await engine.complete(claim.id, claim.lease)
    await engine.courier.settle()
    assert len(await claim_all(engine)) == 2
    found: Quota = await engine.quotas.get("one-each", value="a")
    assert (found.running, found.waiting) == (1, 1)
    assert len(ids) == 2


async def test_a_claim_with_an_id_of_its_own_is_admitted_in_each_partition(engine: Engine) -> None:
    """The answer that a quota gave for one partition is not that for another."""
    await make_quota(engine.store, max_concurrent=1)
    for number in range(6):
        await create_one(engine.store, id=f"x{number}", quotas=("q",))
    (held,) = await claim_all(engine, request="r1", limit=1)
    assert await _running(engine) == 1
    assert [claim.id for claim in await claim_all(engine, request="r1", limit=1)] == [held.id]
    assert await _running(engine) == 1


@pytest.mark.parametrize("asks", [False, True])
async def test_a_process_that_dies_during_a_claim_keeps_no_place(
    engine: Engine, clock: Clock, *, asks: bool
) -> None:
    """Before or after it asks: the lease expires, and the execution has another attempt."""
    await make_quota(engine.store)
    execution_id = await create_one(engine.store, quotas=("q",))
    _, grant = await lease_one(engine.store, execution_id)
    if asks:
        assert await engine.admission._ask([grant]) == {}
    assert await _running(engine) == int(asks)
    await clock.advance_and_tick(30_000)
    await engine.courier.carry_all()
    assert await _running(engine) == 0
    if not asks:
        # The question was on its way all the time.
        assert set(await engine.admission._ask([grant])) == {execution_id}
        assert await _running(engine) == 0
    claim = await claim_one_limited(engine, execution_id)
    assert (claim.attempt_kind, claim.lease.attempt) == (AttemptKind.RECLAIM, 1)
    assert await _running(engine) == 1


async def test_what_is_cancelled_while_its_limits_are_asked_keeps_no_place(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The release overtakes the admission, and voids it."""
    await make_quota(engine.store)
    execution_id = await create_one(engine.store, quotas=("q",))
    admit = engine.store.quotas.admit

    async def late(*args: Any) -> object:
        await engine.cancel(execution_id)
        await engine.courier.carry_all()
        return await admit(*args)

    monkeypatch.setattr(engine.store.quotas, "admit", late)
    assert await claim_all(engine) == []
    assert (await engine.describe(execution_id)).state is State.CANCELLED
    found = await engine.quotas.get("q")
    assert (found.running, found.waiting, found.promised) == (0, 0, 0)


async def test_a_refusal_that_cannot_be_written_costs_others_nothing(
    engine: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was admitted runs; the lease of the other expires, and then it waits like any."""
    await make_quota(engine.store)
    ids = await create_together(engine.store, {"quotas": ("q",)}, {"quotas": ("q",)})

    async def fail(*_args: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(engine.store.executions, "activate", fail)
    (claim,) = await claim_all(engine)
    assert claim.id == ids[0]
    await create_one(engine.store, quotas=("q",))
    with pytest.raises(StoreUnavailable):
        await claim_all(engine)
    monkeypatch.undo()
    await engine.store.leases.renew([(claim.id, claim.lease)], 90_000)
    await clock.advance_and_tick(30_000)
    await engine.courier.carry_all()
    assert await _running(engine) == 1
    assert await claim_all(engine) == []
    assert await _states(engine, ids) == [State.ACTIVE, State.RATE_LIMITED]


async def test_a_lease_that_may_have_expired_is_not_handed_out(
    engine: Engine, clock: Clock
) -> None:
    """Asking took longer than the lease, so the place may be another's by now."""
    await make_quota(engine.store)
    execution_id = await create_one(engine.store, quotas=("q",))
    assert await claim_all(engine, lease_ms=0) == []
    await clock.tick()
    await engine.courier.carry_all()
    assert await _running(engine) == 0
    await claim_one_limited(engine, execution_id)


async def test_a_claim_that_is_repeated_meanwhile_gets_the_same(engine: Engine) -> None:
    """Two processes ask for the same leases; both get what is admitted, once counted."""
    await make_quota(engine.store, max_concurrent=2)
    ids = [await create_one(engine.store, quotas=("q",)) for _ in range(3)]
    other = Engine(engine.store)
    requests = [f"r{n}" for n, _ in enumerate(engine.store.tags())]
    claims: list[list[Claim]] = []
    for one in (engine, other):
        found: list[Claim] = []
        for tag, request in zip(engine.store.tags(), requests, strict=True):
            found += (await one.admission.claim(tag, wanted(request=request)))[0]
        claims.append(found)
    assert len(claims[0]) == 2
    assert claims[0] == claims[1]
    assert await _running(engine) == 2
    states = await _states(engine, ids)
    assert sorted(states) == [State.ACTIVE, State.ACTIVE, State.RATE_LIMITED]
    await other.close()


async def test_a_lease_that_a_budget_voids_leaves_its_slots(engine: Engine) -> None:
    """A repeated claim asks again; the budget may be used up since, the quota has let it in."""
    await make_quota(engine.store)
    await make_budget(engine.store)
    one = await create_one(engine.store, quotas=("q",), budgets=("b",))
    await claim_one_limited(engine, one, request="r")
    await report(engine.store, 100)
    assert await claim_all(engine, request="r") == []
    assert await _states(engine, [one]) == [State.RATE_LIMITED]
    await engine.courier.settle()
    assert await _running(engine) == 0
    await engine.cancel(one)
    await engine.courier.settle()
    assert await _running(engine) == 0


@pytest.mark.parametrize("how", ["cancel", "death"])
async def test_a_new_execution_with_the_id_of_a_forgotten_one_starts(
    engine: Engine, clock: Clock, how: str
) -> None:
    """What voided an admission of the one before does not concern it."""
    await make_quota(engine.store)
    fields: dict[str, Any] = {"id": "job", "quotas": ("q",), "retention_ms": 1_000}
    claim = await claim_one_limited(engine, await create_one(engine.store, **fields))
    await _end(engine, clock, claim, how)
    if how == "death":
        claim = await claim_one_limited(engine, claim.id)
        await _end(engine, clock, claim, "complete")
    await engine.courier.carry_all()
    await clock.advance_and_tick(1_000)
    await create_one(engine.store, **fields)
    claims = await claim_all(engine)
    await clock.advance_and_tick(2_000)
    claims += await claim_all(engine)
    assert [claim.id for claim in claims] == ["job"]
    assert await _running(engine) == 1


@pytest.mark.parametrize("late", ["first", "repetition"])
@pytest.mark.parametrize("tags", [{}, {"a": "b"}], ids=["lease", "grant"])
async def test_a_call_that_asks_after_the_end_takes_no_slot(
    engine: Engine, late: str, tags: dict[str, str]
) -> None:
    """A claim is sent twice, and what one call hands out is done before the other asks."""
    other = Engine(engine.store)
    await make_quota(engine.store)
    one = await create_one(engine.store, quotas=("q",), tags=tags)
    early = await claim_all(other, request="r") if late == "repetition" else []

    async def finish() -> None:
        (claim,) = early or await claim_all(other, request="r")
        await other.complete(one, claim.lease)
        await other.courier.carry_all()

    with meanwhile(engine.store.client, "hf_quota_admit", finish):
        assert await claim_all(engine, request="r") == []
    assert await _running(engine) == 0
    await other.close()


@pytest.mark.parametrize("tags", [{}, {"a": "b"}], ids=["lease", "grant"])
async def test_a_call_that_asks_after_the_end_waits_for_no_budget(
    engine: Engine, tags: dict[str, str]
) -> None:
    """What the other call handed out has used the budget up."""
    other = Engine(engine.store)
    await make_budget(engine.store, hard=5)
    one = await create_one(engine.store, budgets=("b",), tags=tags)

    async def finish() -> None:
        (claim,) = await claim_all(other, request="r")
        await engine.store.budgets.report("b", {"tokens": 5}, None)
        await other.complete(one, claim.lease)
        await other.courier.carry_all()

    with meanwhile(engine.store.client, "hf_budget_admit", finish):
        assert await claim_all(engine, request="r") == []
    await engine.courier.carry_all()
    assert (await engine.store.budgets.get("b")).waiting == 0
    await other.close()


async def test_who_is_refused_by_several_budgets_waits_for_none_after_its_end(
    engine: Engine,
) -> None:
    """They are in several partitions, and all were asked at once."""
    names = [await make_budget(engine.store, f"b{number}", hard=0) for number in range(4)]
    one = await create_one(engine.store, budgets=tuple(names))
    assert await claim_all(engine) == []
    await engine.cancel(one, "")
    await engine.courier.carry_all()
    assert [(await engine.store.budgets.get(name)).waiting for name in names] == [0] * 4

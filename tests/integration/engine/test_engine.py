"""Operations of the engine from end to end, on one server and on a cluster."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.engine.engine import Engine, open_engine
from holdfast.errors import (
    AlreadyTerminal,
    ExecutionNotFound,
    IdConflict,
    IdempotencyConflict,
    LaneDraining,
    LeaseRevoked,
    NotActive,
    NotTerminal,
    ReplayLimit,
    StaleLease,
    StepNotFound,
    StoreFault,
)
from holdfast.model.executions import Failure, Lease, NewExecution, Submitted
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, State
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in, claim_one

FIXED = RetryPolicy(max_attempts=3, backoff=Backoff(kind="fixed", initial_ms=1_000))
BOOM = Failure(type="Boom", message="boom")


async def test_a_life_with_a_retry_and_a_result(engine: Engine, clock: Clock) -> None:
    """Submit, fail, wait, run again, complete; the history tells it all."""
    made = await engine.submit("mail", input=b"in", retry=FIXED)
    first = await claim_one(engine.store, made.id, worker="w1")
    state, retry_at = await engine.fail(made.id, first.lease, BOOM)
    assert (state, retry_at) == (State.DELAYED, from_ms(clock.now_ms + 1_000))
    await clock.advance_and_tick(1_000)
    second = await claim_one(engine.store, made.id, worker="w2")
    assert (second.attempt_kind, second.input) == (AttemptKind.RETRY, b"in")
    await engine.progress(made.id, second.lease, 50, "half way")
    known = await engine.describe(made.id)
    assert (known.progress_pct, known.progress_message) == (50, "half way")
    await engine.complete(made.id, second.lease, b"out")
    assert await engine.result(made.id, timeout_s=5) == b"out"
    events = [event.event for event in await engine.history(made.id)]
    assert events == ["created", "claimed", "failed", "claimed", "completed"]
    attempts = await engine.attempts(made.id)
    assert [(a.index, a.kind, a.worker, a.outcome) for a in attempts] == [
        (0, AttemptKind.INITIAL, "w1", "failed"),
        (1, AttemptKind.RETRY, "w2", "completed"),
    ]
    assert attempts[0].error == {"type": "Boom", "message": "boom"}


async def test_a_batch_is_answered_item_by_item(engine: Engine) -> None:
    """An error of one item costs the others nothing, and the order is kept."""
    await engine.submit("work", id="taken", input=b"1")
    await engine.lanes.drain("closed")
    items = [NewExecution(kind="work", id=f"b{n}") for n in range(998)]
    items.insert(3, NewExecution(kind="work", id="taken", input=b"2"))
    items.insert(700, NewExecution(kind="work", lane="closed"))
    answers = await engine.submit_many(items)
    assert isinstance(answers[3], IdConflict)
    assert isinstance(answers[700], LaneDraining)
    made = [answer for answer in answers if isinstance(answer, Submitted)]
    assert [answer.id for answer in made] == [f"b{n}" for n in range(998)]
    assert not any(answer.duplicate for answer in made)


async def test_a_batch_is_answered_even_when_a_partition_is_broken(real_url: str) -> None:
    """What was created is told; what was not has its error."""
    async with open_engine(f"{real_url}&partitions=16", maintenance=False) as engine:
        store = engine.store
        *_, last = store.tags()
        await store.client.call(["SET", f"{last}:meta", "broken"])
        items = [NewExecution(kind="work", id=f"b{n}") for n in range(100)]
        answers = await engine.submit_many(items)
        kinds = {bool(store.tag_of(str(item.id)) == last): set[type]() for item in items}
        for item, answer in zip(items, answers, strict=True):
            kinds[store.tag_of(str(item.id)) == last].add(type(answer))
        assert kinds == {True: {StoreFault}, False: {Submitted}}


async def test_renewals_are_answered_one_by_one(engine: Engine, clock: Clock) -> None:
    """A lost lease among many does not stop the others."""
    ids = [(await engine.submit("work")).id for _ in range(40)]
    held = {}
    for tag in engine.store.tags():
        for claim in await claim_in(engine.store, tag, limit=100):
            held[claim.id] = claim.lease
    await engine.cancel(ids[7])
    await engine.revoke_lease(ids[8])
    await clock.advance(10_000)
    pairs = [*((i, held[i]) for i in ids), ("nobody", Lease("x", 1, 0))]
    answers = await engine.renew(pairs, 60_000)
    assert isinstance(answers[7], NotActive)
    assert isinstance(answers[8], LeaseRevoked)
    assert isinstance(answers[40], ExecutionNotFound)
    rest = [answers[n] for n in range(40) if n not in (7, 8)]
    assert rest == [from_ms(clock.now_ms + 60_000)] * 38


async def test_an_id_given_twice_is_one_execution(engine: Engine) -> None:
    """The same content is a repetition, another content a conflict."""
    first = await engine.submit("work", id="mine", input=b"1")
    again = await engine.submit("work", id="mine", input=b"1")
    assert (first.duplicate, again.duplicate, again.id) == (False, True, first.id)
    with pytest.raises(IdConflict):
        await engine.submit("work", id="mine", input=b"2")
    assert sum(c.count for c in await engine.count()) == 1


async def test_a_key_given_twice_is_one_execution(engine: Engine) -> None:
    """Keys are per tenant; another content under the same key is a conflict."""
    first = await engine.submit("work", idempotency_key="order 1", tenant="a")
    again = await engine.submit("work", idempotency_key="order 1", tenant="a")
    other = await engine.submit("work", idempotency_key="order 1", tenant="b")
    assert (again.id, again.duplicate) == (first.id, True)
    assert (other.id != first.id, other.duplicate) == (True, False)
    with pytest.raises(IdempotencyConflict):
        await engine.submit("work", idempotency_key="order 1", tenant="a", input=b"2")
    assert (await engine.describe(first.id)).idempotency_key == "order 1"


async def test_steps_are_read_back_by_the_next_attempt(engine: Engine, clock: Clock) -> None:
    """The first result of a step stands, whatever is recorded later."""
    made = await engine.submit("work", retry=FIXED)
    claim = await claim_one(engine.store, made.id)
    assert await engine.checkpoint(made.id, claim.lease, "pay", b"1") == b"1"
    assert await engine.checkpoint(made.id, claim.lease, "mail", b"2") == b"2"
    assert await engine.checkpoint(made.id, claim.lease, "pay", b"other") == b"1"
    await engine.fail(made.id, claim.lease, BOOM)
    await clock.advance_and_tick(1_000)
    again = await claim_one(engine.store, made.id)
    assert list(again.steps.items()) == [("pay", b"1"), ("mail", b"2")]
    steps = await engine.steps(made.id)
    assert [(step.name, step.result) for step in steps] == [("pay", b"1"), ("mail", b"2")]


async def test_a_replay_may_keep_its_steps_or_go_back_to_one(engine: Engine) -> None:
    """From its start, with all steps, or from a step on."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    for name in ("a", "b", "c"):
        await engine.checkpoint(made.id, claim.lease, name, name.encode())
    await engine.complete(made.id, claim.lease)
    with pytest.raises(StepNotFound):
        await engine.replay(made.id, from_step="x")
    await engine.replay(made.id, keep_steps=True)
    claim = await claim_one(engine.store, made.id)
    assert list(claim.steps) == ["a", "b", "c"]
    await engine.complete(made.id, claim.lease)
    await engine.replay(made.id, from_step="b")
    claim = await claim_one(engine.store, made.id)
    assert list(claim.steps) == ["a"]
    await engine.complete(made.id, claim.lease)
    await engine.replay(made.id)
    assert (await claim_one(engine.store, made.id)).steps == {}


async def test_a_holder_that_delays_itself_goes_on_in_the_same_attempt(
    engine: Engine, clock: Clock
) -> None:
    """The lease is given back meanwhile."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    state, run_at = await engine.delay(made.id, claim.lease, 5_000)
    assert (state, run_at) == (State.DELAYED, from_ms(clock.now_ms + 5_000))
    with pytest.raises(NotActive):
        await engine.complete(made.id, claim.lease)
    await clock.advance_and_tick(5_000)
    again = await claim_one(engine.store, made.id, worker="w2")
    assert (again.lease.attempt, again.lease.epoch) == (0, claim.lease.epoch + 1)
    assert (await engine.describe(made.id)).attempts == 1


async def test_cancelling_reaches_a_holder_at_its_next_call(engine: Engine) -> None:
    """It can neither renew nor record nor complete."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id)
    await engine.cancel(made.id, "stop")
    (answer,) = await engine.renew([(made.id, claim.lease)])
    assert isinstance(answer, NotActive)
    for call in (
        engine.progress(made.id, claim.lease, 1),
        engine.checkpoint(made.id, claim.lease, "a", b""),
        engine.complete(made.id, claim.lease),
        engine.fail(made.id, claim.lease, BOOM),
        engine.delay(made.id, claim.lease, 0),
    ):
        with pytest.raises(NotActive):
            await call
    with pytest.raises(AlreadyTerminal):
        await engine.cancel(made.id)
    known = await engine.describe(made.id)
    assert (known.state, known.reason) == (State.CANCELLED, "stop")


async def test_only_an_ended_execution_is_replayed_and_not_for_ever(engine: Engine) -> None:
    """The cap is the caller's."""
    made = await engine.submit("work", max_replays=1)
    with pytest.raises(NotTerminal):
        await engine.replay(made.id)
    await engine.cancel(made.id)
    assert await engine.replay(made.id, reason="again") is State.WAITING
    await engine.cancel(made.id)
    with pytest.raises(ReplayLimit) as refused:
        await engine.replay(made.id)
    assert int(refused.value.context["limit"]) == 1


async def test_a_changed_priority_changes_the_order(engine: Engine) -> None:
    """The previous one is returned."""
    first = await engine.submit("work", id="root~1")
    second = await engine.submit("work", id="root~2", priority=1)
    assert await engine.prioritize(first.id, 5) == 0
    assert await engine.prioritize(second.id, 2) == 1
    claims = await claim_in(engine.store, engine.store.tag_of(first.id), limit=2)
    assert [claim.id for claim in claims] == [first.id, second.id]


async def test_lanes_can_be_paused_drained_and_opened(engine: Engine) -> None:
    """Paused lanes give nothing, draining ones take nothing, what is there goes on."""
    made = await engine.submit("work", lane="bulk")
    tag = engine.store.tag_of(made.id)
    await engine.lanes.pause("bulk")
    assert await engine.lanes.states() == {"bulk": "paused"}
    assert await claim_in(engine.store, tag, lanes=["bulk"]) == []
    await engine.lanes.drain("bulk")
    assert await engine.lanes.states() == {"bulk": "draining"}
    with pytest.raises(LaneDraining, match="bulk"):
        await engine.submit("work", lane="bulk")
    (claim,) = await claim_in(engine.store, tag, lanes=["bulk"])
    await engine.complete(claim.id, claim.lease)
    await engine.lanes.resume("bulk")
    assert await engine.lanes.states() == {}
    await engine.submit("work", lane="bulk")


async def test_explain_follows_an_execution(engine: Engine, clock: Clock) -> None:
    """Each stage has its sentence, made from live facts."""
    made = await engine.submit("work", delay_ms=1_000, requires=["gpu"])
    assert "start later" in (await engine.explain(made.id)).why
    await clock.advance_and_tick(1_000)
    assert "no live worker serves lane default" in (await engine.explain(made.id)).why
    await engine.workers.register("w1", worker="w", lanes=["default"])
    assert "has the capability gpu" in (await engine.explain(made.id)).why
    await engine.workers.register("w2", worker="w", lanes=["default"], capabilities=["gpu"])
    assert "it is next" in (await engine.explain(made.id)).why
    claim = await claim_one(engine.store, made.id, capabilities=["gpu"], worker="w2")
    assert "attempt #1, on worker w2" in (await engine.explain(made.id)).why
    await engine.complete(made.id, claim.lease)
    assert (await engine.explain(made.id)).why == "It has ended: completed."


async def test_a_stale_holder_is_told_what_became_of_its_execution(
    engine: Engine, clock: Clock
) -> None:
    """The refusal carries the state and the epoch."""
    made = await engine.submit("work")
    old = await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    new = await claim_one(engine.store, made.id)
    with pytest.raises(StaleLease) as refused:
        await engine.complete(made.id, old.lease)
    assert refused.value.context["state"] == State.ACTIVE
    assert refused.value.context["epoch"] == new.lease.epoch


async def test_every_argument_of_a_submission_arrives(engine: Engine, clock: Clock) -> None:
    """No argument is lost between the caller and the record."""
    run_at = from_ms(clock.now_ms) + timedelta(hours=1)
    made = await engine.submit(
        "mail/send",
        id="root~1",
        tenant="acme",
        lane="bulk",
        priority=-5,
        requires=["b", "a"],
        run_at=run_at,
        deadline_ms=7_200_000,
        tags={"k": "v"},
        idempotency_key="key 1",
    )
    known = await engine.describe(made.id)
    assert (known.id, known.kind, known.tenant, known.lane) == (
        "acme=root~1",
        "mail/send",
        "acme",
        "bulk",
    )
    assert (known.priority, known.requires, known.tags) == (-5, ("a", "b"), {"k": "v"})
    assert (known.run_at, known.state) == (run_at, State.DELAYED)
    assert known.deadline_at == from_ms(clock.now_ms + 7_200_000)
    assert known.idempotency_key == "key 1"

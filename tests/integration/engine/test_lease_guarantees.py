"""Leases are renewed, lost, revoked and reclaimed without losing or doubling work.

What went wrong in other systems, and the test that it does not here (L = this file,
R = test_retry_guarantees.py, T = test_time_limits_and_replays.py, S = test_claim_order.py,
K = test_retention_and_keys.py, others by name):

    lane states not enforced         engine: test_lanes_can_be_paused_drained_and_opened
    stored state != derived          S test_the_state_is_written_as_a_unit_at_every_step
    policy fields without a reader   R test_every_term_of_a_policy_has_an_effect
    key with another id misses       K test_a_key_is_honoured_whatever_id_comes_with_it
    no automatic reclaim             L test_a_lost_worker_is_replaced_without_any_call
    reclaim cap ends silently        L test_a_poison_task_ends_with_its_history_and_is_announced
    timeout not armed after reclaim  T test_the_attempt_timeout_is_armed_for_every_attempt
    timeout never armed, terminal    T test_an_attempt_timeout_ends_the_attempt_and_retries
    renew leaves an index behind     L test_a_renewed_lease_is_not_reclaimed_at_its_old_end
    resumed attempt has no timeout   T test_a_resumed_attempt_keeps_what_was_left_of_its_time
    resume delay stuck               T test_a_self_delay_ends_even_when_its_resume_is_late
    revoked lease is never found     L test_a_revoked_execution_is_claimable_at_once
    lease history without producer   L test_every_change_of_a_lease_is_in_the_history
    jitter ignored                   R test_jitter_spreads_those_who_fail_together
    permanent failures retried       R test_a_permanent_failure_is_not_retried
    no retry-after                   R test_the_worker_may_say_when_to_retry
    retry budget after replay        T test_a_replay_has_a_fresh_retry_budget
    deadline after replay            T test_a_replay_has_a_fresh_deadline
    outcome kept by replay           T test_a_replay_forgets_the_old_outcome
    head hides what is behind        S test_a_head_that_cannot_be_served_starves_nobody
    no ageing                        S test_low_priority_gets_old_enough_to_run
    no fairness of tenants           S test_one_tenant_cannot_fill_the_system
    union of capabilities            S test_one_worker_must_have_all_capabilities
    lanes must be listed             S test_a_lane_needs_no_announcement
    retention slow, leaves keys      K test_retention_leaves_no_key, K test_retention_keeps_up
    drift is only logged             list: test_counts_follow_every_change (a count is a size)
    delays late by a poll            wakeups: test_a_short_delay_is_claimed_when_it_is_due
     2, 3 ends not announced         wakeups: test_every_end_wakes_those_who_wait, L poison
     4 resumed work not claimable    S test_one_claim_takes_fresh_retried_resumed_and_reclaimed
     5, 6 blocking reads             K test_many_who_wait_leave_the_connection_free
     7 mismatch is a hot loop        S test_a_claim_that_finds_nothing_writes_nothing
    11 partial errors                engine: test_a_batch_is_answered_*, claimer: broken partition
    12 a dropped argument            engine: test_every_argument_of_a_submission_arrives
    13 a key in the wrong slot       K test_every_key_carries_the_tag_of_its_partition
    14 a lost grant orphans work     L test_a_lost_worker_is_replaced_without_any_call
    15 attempts without a lease      L test_attempts_exist_only_with_a_lease
    16, 17 started_at                L test_started_at_is_set_by_the_first_claim_and_stays
    18, 19 the old owner stays       L test_a_reclaimed_execution_belongs_to_its_new_worker_only
    21, 24 numbers after writes      validation: lease_ms, ttl_ms, NaN; K test_zero_is_a_number
    23 the exact boundary            L test_at_its_last_instant_a_lease_is_over_for_everybody
    29-32, 54 malformed policy       S test_bad_capabilities_are_refused_everywhere, unit: checks
    33 unknown is not empty          K test_a_registry_that_cannot_be_read_is_not_empty
    34 tenants mixed                 list: test_tags_of_other_tenants_are_not_seen, counts
    35, 36 heartbeats                K test_a_heartbeat_renews_the_whole_registration
    37 collisions in a millisecond   list: test_executions_of_one_moment_*
    38 cursors                       list: test_a_cursor_*
    39 filters never run             list: test_every_filter_alone_and_combined
    40 claim leaves `waiting`        S test_the_state_is_written_as_a_unit_at_every_step
    41 stale attempt outcome         L test_an_interrupted_attempt_ends_with_its_execution
    43 unserveable high priority     S test_a_head_that_cannot_be_served_starves_nobody
    46 lost replies                  L test_every_call_may_be_sent_twice
    47 lost shutdown                 wakeups: test_closing_an_engine_stops_its_loops
    49 the client's clock            K test_the_clock_of_the_client_plays_no_part
    50 caps                          L poison, engine: test_only_an_ended_execution_is_replayed_*
    53 an index that nobody feeds    K test_every_index_is_fed
    56 forms of the URL              unit: test_urls
    60 too many partitions           K test_the_default_number_of_partitions_fits_the_server

Out of scope here: 1, 25-27 and resume conditions (waitpoints); 2 for skipped members, quorum
and edge GAPs, 11 for graph cancel (graphs); 20, 44, 45 (streams); 8-10, budget and quota GAPs,
blocks for admission (budgets and quotas); 22, 26, 28 (tokens); 42 (event feeds); 48, 51, 58
(the worker SDK and other back ends); 52 (chaos tests); 55, 59 (other products); 57 (prefixes
of the test stores).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from holdfast.engine.engine import Engine
from holdfast.errors import ExecutionFailed, StaleLease
from holdfast.model.executions import Failure, Lease
from holdfast.model.moments import from_ms
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.states import AttemptKind, Hold, State
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in, claim_one

Dump = Callable[[], dict[str, object]]
BOOM = Failure(type="Boom", message="boom")
FOREVER = RetryPolicy(max_attempts=100, backoff=Backoff(kind="fixed", initial_ms=0))


def _policy(wait_ms: int = 1_000) -> RetryPolicy:
    return RetryPolicy(max_attempts=3, backoff=Backoff(kind="fixed", initial_ms=wait_ms))


async def test_a_lost_worker_is_replaced_without_any_call(engine: Engine, clock: Clock) -> None:
    """The tick that sees an expired lease makes the execution claimable, as a new attempt."""
    made = await engine.submit("work", input=b"in")
    lost = await claim_one(engine.store, made.id, worker="w1", lease_ms=5_000)
    assert await clock.advance_and_tick(4_999) == 0
    assert await clock.advance_and_tick(1) == 1
    found = await claim_one(engine.store, made.id, worker="w2")
    assert (found.attempt_kind, found.input) == (AttemptKind.RECLAIM, b"in")
    assert found.lease.attempt == lost.lease.attempt + 1
    assert found.lease.epoch > lost.lease.epoch
    known = await engine.describe(made.id)
    assert (known.reclaims, known.failures) == (1, 0)


async def test_repeated_reclaims_slow_down(engine: Engine, clock: Clock) -> None:
    """The first is immediate, later ones wait longer and longer, a minute at most."""
    made = await engine.submit("work", max_reclaims=100)
    waits = []
    for _ in range(9):
        await claim_one(engine.store, made.id, lease_ms=1_000)
        await clock.advance_and_tick(1_000)
        known = await engine.describe(made.id)
        due = int(known.run_at.timestamp() * 1_000) if known.run_at else clock.now_ms
        assert known.hold == (Hold.RECLAIM if known.run_at else None)
        waits.append(due - clock.now_ms)
        await clock.advance_and_tick(due - clock.now_ms)
    assert waits == [0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]


async def test_a_poison_task_ends_with_its_history_and_is_announced(
    engine: Engine, clock: Clock
) -> None:
    """Over the cap it fails, its last attempt ends, and those who wait are told the cap."""
    made = await engine.submit("work", max_reclaims=2)
    for _ in range(3):
        await claim_one(engine.store, made.id, lease_ms=1_000)
        await engine.store.executions.watch(made.id, "somebody")
        await clock.advance_and_tick(1_000)
        await clock.advance_and_tick(60_000)
    with pytest.raises(ExecutionFailed, match="more than max_reclaims") as failed:
        await engine.result(made.id, timeout_s=5)
    assert failed.value.context["error"]["type"] == "reclaim_limit"
    attempts = await engine.attempts(made.id)
    assert [a.outcome for a in attempts] == ["lease_expired"] * 3
    watchers = f"{engine.store.tag_of(made.id)}:w:{made.id}"
    assert await engine.store.client.call(["EXISTS", watchers]) == 0


async def test_the_cap_of_reclaims_is_the_callers(engine: Engine, clock: Clock) -> None:
    """No reserved default kills a long session, or spares one that wants no reclaim."""
    none = await engine.submit("work", max_reclaims=0)
    many = await engine.submit("work", max_reclaims=1_000)
    for _ in range(25):
        for tag in engine.store.tags():
            await claim_in(engine.store, tag, limit=2, lease_ms=1_000)
        await clock.advance_and_tick(1_000)
        await clock.advance_and_tick(60_000)
    assert (await engine.describe(none.id)).state is State.FAILED
    known = await engine.describe(many.id)
    assert (known.state, known.reclaims) == (State.WAITING, 25)


async def test_a_renewed_lease_is_not_reclaimed_at_its_old_end(
    engine: Engine, clock: Clock
) -> None:
    """A renewal moves the timer, and a shorter one moves it nearer."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id, lease_ms=5_000)
    await clock.advance(4_000)
    await engine.renew([(made.id, claim.lease)], 5_000)
    await clock.advance_and_tick(1_000)
    assert (await engine.describe(made.id)).state is State.ACTIVE
    await engine.renew([(made.id, claim.lease)], 2_000)
    await clock.advance_and_tick(2_000)
    assert (await engine.describe(made.id)).state is State.WAITING


async def test_at_its_last_instant_a_lease_is_over_for_everybody(
    engine: Engine, clock: Clock
) -> None:
    """The holder's check and the timer compare alike, so there is no instant in between."""
    made = await engine.submit("work")
    claim = await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance(999)
    await engine.progress(made.id, claim.lease, 1)
    await clock.advance(1)
    with pytest.raises(StaleLease):
        await engine.progress(made.id, claim.lease, 2)
    await clock.advance_and_tick(0)
    assert (await engine.describe(made.id)).state is State.WAITING


async def test_a_revoked_execution_is_claimable_at_once(engine: Engine, clock: Clock) -> None:
    """No supervisor has to find it, and its timer is gone."""
    made = await engine.submit("work")
    await claim_one(engine.store, made.id, worker="w1", lease_ms=5_000)
    await engine.revoke_lease(made.id, "stuck")
    again = await claim_one(engine.store, made.id, worker="w2", lease_ms=60_000)
    assert again.attempt_kind is AttemptKind.RECLAIM
    await clock.advance_and_tick(5_000)
    known = await engine.describe(made.id)
    assert (known.state, known.worker, known.reclaims) == (State.ACTIVE, "w2", 0)


async def test_a_reclaimed_execution_belongs_to_its_new_worker_only(
    engine: Engine, clock: Clock
) -> None:
    """While nobody holds it, it names nobody."""
    made = await engine.submit("work")
    await claim_one(engine.store, made.id, worker="w1", lease_ms=1_000)
    assert (await engine.describe(made.id)).worker == "w1"
    await clock.advance_and_tick(1_000)
    assert (await engine.describe(made.id)).worker is None
    await claim_one(engine.store, made.id, worker="w2")
    assert (await engine.describe(made.id)).worker == "w2"


async def test_every_change_of_a_lease_is_in_the_history(engine: Engine, clock: Clock) -> None:
    """Taken, lost, revoked, given back, resumed, ended: each with time and worker."""
    made = await engine.submit("work", retry=FOREVER)
    await claim_one(engine.store, made.id, lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    await claim_one(engine.store, made.id)
    await engine.revoke_lease(made.id, "why")
    claim = await claim_one(engine.store, made.id)
    await engine.delay(made.id, claim.lease, 0)
    claim = await claim_one(engine.store, made.id)
    await engine.fail(made.id, claim.lease, BOOM)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease)
    history = await engine.history(made.id)
    assert [event.event for event in history] == [
        "created", "claimed", "lease_expired", "claimed", "lease_revoked",
        "claimed", "delayed", "resumed", "failed", "claimed", "completed",
    ]  # fmt: skip
    assert history[4].data["reason"] == "why"
    assert all(event.at <= from_ms(clock.now_ms) for event in history)


async def test_started_at_is_set_by_the_first_claim_and_stays(engine: Engine, clock: Clock) -> None:
    """It is absent before, and no retry, reclaim or replay moves it."""
    made = await engine.submit("work", retry=_policy(wait_ms=0))
    assert (await engine.describe(made.id)).started_at is None
    await clock.advance(5)
    claim = await claim_one(engine.store, made.id)
    started = from_ms(clock.now_ms)
    await clock.advance(5)
    await engine.fail(made.id, claim.lease, BOOM)
    claim = await claim_one(engine.store, made.id)
    await engine.complete(made.id, claim.lease)
    await engine.replay(made.id)
    await clock.advance(5)
    await claim_one(engine.store, made.id)
    assert (await engine.describe(made.id)).started_at == started


async def test_attempts_exist_only_with_a_lease(engine: Engine, clock: Clock) -> None:
    """Neither creation nor a scheduled retry makes one."""
    made = await engine.submit("work", retry=_policy())
    assert await engine.attempts(made.id) == []
    claim = await claim_one(engine.store, made.id)
    await engine.fail(made.id, claim.lease, BOOM)
    await clock.advance_and_tick(1_000)
    assert len(await engine.attempts(made.id)) == (await engine.describe(made.id)).attempts == 1
    await engine.cancel(made.id)
    assert len(await engine.attempts(made.id)) == 1


@pytest.mark.parametrize("end", ["cancel", "deadline"])
async def test_an_interrupted_attempt_ends_with_its_execution(
    engine: Engine, clock: Clock, end: str
) -> None:
    """An attempt that gave its lease back must not stay open after the end."""
    made = await engine.submit("work", deadline_ms=60_000)
    claim = await claim_one(engine.store, made.id)
    await engine.delay(made.id, claim.lease, 30_000)
    if end == "cancel":
        await engine.cancel(made.id)
    else:
        await clock.advance_and_tick(60_000)
    known = await engine.describe(made.id)
    (attempt,) = await engine.attempts(made.id)
    assert known.state.is_terminal
    assert (attempt.outcome, attempt.ended_at) == (str(known.state), known.completed_at)


async def test_a_cancelled_execution_shows_no_trace_of_its_last_failure(
    engine: Engine, clock: Clock
) -> None:
    """The error of an earlier attempt is not the reason of the end."""
    made = await engine.submit("work", retry=_policy())
    claim = await claim_one(engine.store, made.id)
    await engine.fail(made.id, claim.lease, BOOM)
    await engine.cancel(made.id, "enough")
    known = await engine.describe(made.id)
    assert (known.error, known.reason, known.hold, known.run_at) == (None, "enough", None, None)


Twice = Callable[[Engine, str, Lease], Awaitable[object]]


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda e, i, lease: e.complete(i, lease, b"1"), id="complete"),
        pytest.param(lambda e, i, lease: e.fail(i, lease, BOOM), id="fail"),
        pytest.param(lambda e, i, lease: e.delay(i, lease, 500), id="delay"),
        pytest.param(lambda e, i, lease: e.checkpoint(i, lease, "s", b"1"), id="checkpoint"),
    ],
)
async def test_every_call_may_be_sent_twice(
    engine: Engine, clock: Clock, dump: Dump, call: Twice
) -> None:
    """After a lost reply the same holder gets the same answer, and nothing happens twice."""
    made = await engine.submit("work", retry=_policy())
    claim = await claim_one(engine.store, made.id)
    first = await call(engine, made.id, claim.lease)
    await clock.advance(10)
    before = dump()
    assert await call(engine, made.id, claim.lease) == first
    assert dump() == before

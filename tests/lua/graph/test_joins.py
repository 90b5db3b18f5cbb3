"""Joins: every policy with every outcome of its upstreams, and what becomes of losers."""

from __future__ import annotations

import itertools

import pytest

from holdfast.model.graphs import Join
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump

JOINS = {"all": Join(), "any": Join.any(), "two": Join.quorum(2), "three": Join.quorum(3)}
NEED = {"all": 3, "any": 1, "two": 2, "three": 3}
OUTCOMES = [
    *itertools.product(("completed", "failed"), repeat=3),
    ("cancelled", "completed", "completed"),
    ("completed", "cancelled", "cancelled"),
]


@pytest.mark.parametrize("ends", OUTCOMES)
@pytest.mark.parametrize("policy", JOINS)
@pytest.mark.parametrize("losers", ["keep", "cancel"])
async def test_a_join_is_decided_by_its_upstreams(
    store: Store, policy: str, ends: tuple[str, ...], losers: str
) -> None:
    """As soon as enough have succeeded it starts, as soon as too few can it is skipped."""
    join = Join(policy=JOINS[policy].policy, k=JOINS[policy].k, losers=losers)
    run = await submit(store, "a b c d", "a>d", "b>d", "c>d", joins={"d": join})
    await run.claim()
    good = bad = 0
    for number, (key, how) in enumerate(zip("abc", ends, strict=True)):
        await run.end(key, how)
        good, bad = good + (how == "completed"), bad + (how != "completed")
        decided = good >= NEED[policy] or bad > 3 - NEED[policy]
        expected = "waiting_children"
        if decided:
            expected = "waiting" if good >= NEED[policy] else "skipped"
        assert await run.states("d") == expected
        left = "abc"[number + 1 :]
        if decided and left:
            fate = "cancelled" if losers == "cancel" else "active"
            assert await run.states(*left) == " ".join([fate] * len(left))
            break
    succeeded = good >= NEED[policy]
    await run.complete(*(left if losers == "keep" else ()), *("d" if succeeded else ()))
    assert await run.state() == ("completed" if succeeded else "failed")


@pytest.mark.parametrize(
    ("on", "how", "state"),
    [
        (">", "completed", "waiting"), (">", "failed", "skipped"), (">", "cancelled", "skipped"),
        ("!", "completed", "skipped"), ("!", "failed", "waiting"), ("!", "cancelled", "waiting"),
        ("*", "completed", "waiting"), ("*", "failed", "waiting"), ("*", "cancelled", "waiting"),
    ],
)  # fmt: skip
async def test_an_edge_asks_for_an_end(store: Store, on: str, how: str, state: str) -> None:
    """Success, failure, or any end."""
    run = await submit(store, "a b", f"a{on}b")
    await run.end("a", how)
    assert await run.states("b") == state


async def test_a_skip_goes_down_the_line(store: Store, dump: Dump) -> None:
    """A skipped member meets only edges that always hold; it is no failure."""
    run = await submit(store, "a b c d e f", "a>b", "b>c", "c>d", "c!e", "c*f")
    await run.fail("a")
    assert await run.states() == "failed skipped skipped skipped skipped waiting"
    history = await store.queries.history(f"{run.id}~c")
    assert [(event.event, event.data.get("reason")) for event in history] == [
        ("created", None),
        ("skipped", "upstream b is skipped"),
    ]
    assert violations(dump()) == []


async def test_a_diamond_with_a_failure(store: Store) -> None:
    """The side that works is not wasted, the join is skipped at the first failure."""
    run = await submit(store, "a b c d", "a>b", "a>c", "b>d", "c>d")
    await run.complete("a")
    await run.fail("b")
    assert await run.states() == "completed failed active skipped"
    await run.complete("c")
    assert await run.state() == "failed"


async def test_a_failure_that_was_taken_up_does_not_count(store: Store) -> None:
    """The one who waits for a failure has dealt with it, if it ran."""
    run = await submit(store, "a b c", "a!b", "a>c")
    await run.fail("a")
    await run.complete("b")
    assert (await run.states(), await run.state()) == ("failed completed skipped", "completed")


async def test_a_handler_that_never_ran_takes_up_nothing(store: Store) -> None:
    """It waited for something else as well, which did not come."""
    run = await submit(store, "a b h", "a!h", "b>h")
    await run.fail("a", "b")
    assert (await run.states(), await run.state()) == ("failed failed skipped", "failed")


async def test_a_handler_that_fails_is_a_failure(store: Store) -> None:
    """What it took up is not counted twice."""
    run = await submit(store, "a h", "a!h")
    await run.fail("a", "h")
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.state, graph.failures) == ("failed", 1)


async def test_an_always_edge_further_down_excuses_nothing(store: Store) -> None:
    """Cleaning up after a failed chain does not make it a success."""
    run = await submit(store, "a b clean", "a>b", "b*clean")
    await run.fail("a")
    await run.complete("clean")
    assert await run.state() == "failed"


async def test_a_branch_that_lost_may_fail_at_any_depth(store: Store) -> None:
    """A join that does without a branch does without all of it."""
    run = await submit(store, "a1 b1 a2 d", "a1>b1", "b1>d", "a2>d", joins={"d": Join.any()})
    await run.claim()
    await run.fail("a1")
    await run.complete("a2", "d")
    assert (await run.states(), await run.state()) == (
        "failed skipped completed completed",
        "completed",
    )


async def test_losers_are_cancelled_up_the_branch(store: Store) -> None:
    """What only the loser waited for is not needed, either."""
    join = {"d": Join.any(losers="cancel")}
    run = await submit(store, "a1 b1 a2 d", "a1>b1", "b1>d", "a2>d", joins=join)
    await run.complete("a2")
    assert await run.states() == "cancelled cancelled completed waiting"
    history = await store.queries.history(f"{run.id}~b1")
    assert history[-1].data["reason"] == "member d needs it no more"


async def test_a_loser_that_somebody_waits_for_runs_on(store: Store) -> None:
    """Until those who wait for it are decided, too."""
    join = {"d": Join.any(losers="cancel")}
    run = await submit(store, "a b c d x y", "a>d", "b>d", "b>x", "c>x", "b>y", "c>y", joins=join)
    await run.claim()
    await run.complete("a")
    assert await run.states("b") == "active"
    await run.cancel("x")
    assert await run.states("b") == "active"
    await run.fail("c")
    assert await run.states("b", "y") == "cancelled skipped"


async def test_upstreams_of_a_lost_quorum_are_cancelled_if_wanted(store: Store) -> None:
    """Two of three cannot come any more, so the third need not go on."""
    run = await submit(
        store, "a b c d", "a>d", "b>d", "c>d", joins={"d": Join.quorum(2, losers="cancel")}
    )
    await run.fail("a", "b")
    assert (await run.states(), await run.state()) == ("failed failed cancelled skipped", "failed")


async def test_retries_are_not_ends(store: Store, clock: Clock) -> None:
    """Dependents hear of the last attempt only."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=1_000))
    run = await submit(store, members("a", retry=policy) | members("b"), "a>b")
    await run.fail("a")
    assert await run.states() == "delayed waiting_children"
    await clock.advance_and_tick(1_000)
    await run.fail("a")
    assert await run.states() == "failed skipped"


@pytest.mark.parametrize("way", ["reclaim limit", "attempt timeout", "deadline", "lease revoked"])
async def test_every_way_to_end_is_heard(store: Store, clock: Clock, way: str, dump: Dump) -> None:
    """Also those that no caller asked for."""
    fields = {
        "reclaim limit": {"max_reclaims": 0},
        "attempt timeout": {"attempt_timeout_ms": 1_000},
        "deadline": {"deadline_ms": 30_000},
        "lease revoked": {},
    }[way]
    run = await submit(store, members("a", **fields) | members("bc"), "a!b", "a>c")
    await run.claim()
    if way == "lease revoked":
        await store.leases.revoke(f"{run.id}~a", "")
        assert await run.states("a", "b") == "waiting waiting_children"
        run.held.clear()
        await run.fail("a")
    await clock.advance_and_tick(30_000)
    assert await run.states("b", "c") == "waiting skipped"
    assert violations(dump(), clock.now_ms) == []

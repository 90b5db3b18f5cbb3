"""What a join decides does not depend on the order in which ends are heard."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.model.graphs import Join
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import GraphRun, edges, members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump

#: More dependents than one call visits.
MANY = [f"f{n}" for n in range(150)]
#: More members than one firing of a timer finds and reopens.
WIDE = [f"f{n}" for n in range(300)]


async def test_a_chain_that_is_skipped_does_not_lose_first(store: Store, dump: Dump) -> None:
    """The join above it is decided early; its losers are sought when all ends have been heard."""
    texts = "m>a", "a>b", "b>c", "m>d", "c>d"
    run = await submit(store, "m a b c d", *texts, joins={"d": Join.quorum(2, losers="cancel")})
    await run.fail("m")
    assert await run.states() == "failed skipped skipped skipped skipped"
    assert await run.state() == "failed"
    assert violations(dump()) == []


async def test_a_loser_that_had_started_keeps_what_it_did_without(store: Store, dump: Dump) -> None:
    """Its own join was decided, and keeps its losers, before it lost itself."""
    texts = "m!a", "a*c", "x>c", "c>d", "m>d"
    joins = {"c": Join.any(), "d": Join.any(losers="cancel")}
    run = await submit(store, "m x a c d", *texts, joins=joins)
    await run.claim()
    await run.complete("m")
    assert await run.states() == "completed active skipped cancelled waiting"
    await run.complete("x", "d")
    assert await run.state() == "completed"
    assert violations(dump()) == []


async def test_losers_wait_for_ends_that_are_parked(store: Store, clock: Clock, dump: Dump) -> None:
    """A failure with many dependents decides the join first, and reaches the chain by timer."""
    texts = ["m>d", *(f"m>{key}" for key in MANY), "m>a", "a>b", "b>c", "c>d"]
    keys = ["m", "a", "b", "c", "d", *MANY]
    run = await submit(store, keys, *texts, joins={"d": Join.quorum(2, losers="cancel")})
    await run.fail("m")
    assert await run.states("a", "b", "c", "d") == 3 * "waiting_children " + "skipped"
    await clock.tick()
    assert await run.states("a", "b", "c") == "skipped skipped skipped"
    assert await run.state() == "failed"
    assert violations(dump(), clock.now_ms) == []


@pytest.mark.parametrize("ticks", [False, True])
async def test_losers_wait_for_ends_of_earlier_calls(
    store: Store, clock: Clock, dump: Dump, *, ticks: bool
) -> None:
    """A later call decides a join whose losers an earlier end, still parked, skips."""
    texts = [*(f"m>{key}" for key in MANY), "m>a", "a>b", "b>d", "n>d", "x>d"]
    keys = ["m", "n", "x", "a", "b", "d", *MANY]
    run = await submit(store, keys, *texts, joins={"d": Join.any(losers="cancel")})
    await run.claim()
    await run.fail("m")
    if ticks:
        await clock.tick()
    await run.complete("n")
    assert await run.states("d") == "waiting"
    assert await run.states("x") == ("cancelled" if ticks else "active")
    await clock.tick()
    assert await run.states("a", "b", "x") == "skipped skipped cancelled"
    await run.complete("d")
    assert await run.state() == "completed"
    assert violations(dump(), clock.now_ms) == []


async def test_a_large_walk_over_losers_waits_its_turn(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Ends that come while losers are parked are heard before the rest of them is cancelled."""
    texts = [*(f"{key}>d" for key in MANY), "m>d", "y>f149"]
    joins = {"d": Join.any(losers="cancel")}
    run = await submit(store, ["m", "y", *MANY, "d"], *texts, joins=joins)
    await run.claim()
    await run.complete("m")
    assert await run.states("f10", "f149") == "cancelled waiting_children"
    await run.fail("y")
    assert await run.states("f140", "f149") == "active skipped"
    await clock.tick()
    assert await run.states("f140", "f149") == "cancelled skipped"
    await run.complete("d")
    assert await run.state() == "completed"
    assert violations(dump(), clock.now_ms) == []


async def test_a_cancelled_graph_has_no_losers(store: Store, clock: Clock, dump: Dump) -> None:
    """What the cancel leaves running is not cancelled by a walk that was parked before it."""
    joins = {"d": Join.any(losers="cancel")}
    run = await submit(store, ["m", *MANY, "d"], *(f"{k}>d" for k in ["m", *MANY]), joins=joins)
    await run.claim()
    await run.complete("m")
    await Graphs(store, Payloads(store)).cancel(run.id, policy="cancel_pending")
    await clock.tick()
    assert await run.states("f10", "f149", "d") == "cancelled active cancelled"
    await run.complete(*MANY[101:])
    assert violations(dump(), clock.now_ms) == []


async def test_an_end_that_new_edges_cause_is_heard_once(store: Store, dump: Dump) -> None:
    """A member that is skipped because of one new edge tells the other one like the rest."""
    joins = {"c": Join.quorum(2)}
    run = await submit(store, "a b c x y z", "x>b", "y>c", "z>c", joins=joins)
    await run.fail("a")
    await Graphs(store, Payloads(store)).grow(run.id, edges=edges("a>b", "b>c"))
    assert await run.states("b", "c") == "skipped waiting_children"
    assert violations(dump()) == []
    await run.fail("y")
    assert await run.states("c") == "skipped"


async def test_new_edges_of_many_members_that_have_ended(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """They are heard as far as the call may, the rest by timer."""
    run = await submit(store, ["x", *MANY])
    await run.complete(*MANY)
    await Graphs(store, Payloads(store)).grow(
        run.id, members=members("z"), edges=edges(*(f"{key}>z" for key in MANY))
    )
    await clock.tick()
    assert await run.states("z") == "waiting"
    assert violations(dump(), clock.now_ms) == []


async def _replay_a_wide_failure(store: Store, clock: Clock) -> GraphRun:
    """Submit many members with a common dependent, let them fail, and begin the replay."""
    run = await submit(store, [*WIDE, "z"], *(f"{key}>z" for key in WIDE))
    await run.fail(*WIDE)
    await clock.tick()
    assert (await run.state(), await run.states("z")) == ("failed", "skipped")
    await Graphs(store, Payloads(store)).replay(run.id)
    return run


async def test_an_end_during_a_replay_is_heard_after_it(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A member that was reopened is cancelled while its dependent is still to be reopened."""
    run = await _replay_a_wide_failure(store, clock)
    while await run.states("f0") == "failed":
        await store.timers.tick(run.tag, 1)
    assert await run.states("f0", "z") == "waiting_children skipped"
    await run.cancel("f0")
    await clock.tick()
    assert await run.states("z") == "skipped"
    await run.complete(*WIDE[1:])
    assert await run.state() == "failed"
    assert violations(dump(), clock.now_ms) == []


async def test_an_edge_that_is_added_during_a_replay(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """It hears how its upstream ends in the replay, not how it ended before."""
    run = await _replay_a_wide_failure(store, clock)
    await Graphs(store, Payloads(store)).grow(run.id, members=members("n"), edges=edges("f299>n"))
    assert await run.states("f299", "n") == "failed waiting_children"
    await clock.tick()
    assert await run.states("f299", "n") == "waiting waiting_children"
    await run.complete(*WIDE)
    assert await run.states("z", "n") == "waiting waiting"
    await run.complete("z", "n")
    assert await run.state() == "completed"
    assert violations(dump(), clock.now_ms) == []


async def test_an_edge_that_is_added_as_a_replay_begins(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """The same if a firing of the timer does just so much that it starts all members."""
    keys = [f"f{n}" for n in range(124)]
    run = await submit(store, keys)
    graphs = Graphs(store, Payloads(store))
    await graphs.cancel(run.id, policy="cancel_all")
    await clock.tick()
    await graphs.replay(run.id)
    await graphs.grow(run.id, members=members("nopq"), edges=edges("f0>n"))
    assert await run.states("f0", "n") == "cancelled waiting_children"
    await store.timers.tick(run.tag, 1)
    assert await run.states("f0", "n") == "waiting waiting_children"
    await clock.tick()
    assert await run.states("f0", "n") == "waiting waiting_children"
    await run.complete(*keys)
    await run.complete(*"nopq")
    assert await run.state() == "completed"
    assert violations(dump(), clock.now_ms) == []


async def test_a_member_that_waits_again_is_pending(store: Store) -> None:
    """A replay reopened it, so `cancel_pending` ends it, though a worker had it before."""
    run = await submit(store, "u v z y", "u*z", "u>y", "v>y")
    await run.fail("u", "v", "z")
    assert await run.states() == "failed failed failed skipped"
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states() == "waiting waiting waiting_children waiting_children"
    await run.claim()
    await Graphs(store, Payloads(store)).cancel(run.id, policy="cancel_pending")
    assert await run.states() == "active active cancelled cancelled"
    await run.complete("u", "v")
    assert await run.state() == "cancelled"


@pytest.mark.parametrize("together", [False, True])
async def test_ends_in_one_call_are_heard_in_turn(
    store: Store, clock: Clock, dump: Dump, *, together: bool
) -> None:
    """As in calls of their own: the first lets losers go before the second is heard."""
    texts = [*(f"m>{key}" for key in MANY), "m>a", "a>b", "x>d", "n>d", "b>d"]
    keys = ["m", "n", "x", "a", "b", "d", *MANY]
    run = await submit(store, keys, *texts, joins={"d": Join.any(losers="cancel")})
    await run.claim()
    if together:
        assert await run.complete_together("n", "m") == "ok ok"
    else:
        await run.complete("n", "m")
    assert await run.states("x", "a", "b") == "cancelled cancelled cancelled"
    await clock.tick()
    await run.complete("d", *MANY)
    assert await run.state() == "completed"
    assert violations(dump(), clock.now_ms) == []

"""hf_graph_cancel."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import GraphFinished, GraphNotFound, NotActive
from holdfast.model.graphs import Edge
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump


async def test_all_members_that_have_not_ended_are_cancelled(store: Store, dump: Dump) -> None:
    """Whatever they did; none is skipped because of another."""
    made = members("abcd") | members("e", delay_ms=1_000)
    run = await submit(store, made, "a>b", "b>c", "c>d")
    await run.complete("a")
    held = dict(await run.claim())
    answer = await Graphs(store, Payloads(store)).cancel(run.id, reason="no more")
    assert (answer.state, answer.cancelled) == ("cancelled", 4)
    assert await run.states() == "completed" + 4 * " cancelled"
    assert await run.state() == "cancelled"
    with pytest.raises(NotActive):
        await store.executions.complete(held["b"].id, held["b"].lease, b"1")
    graph, events = await store.graphs.describe(run.id)
    assert (graph.reason, graph.cancelled, graph.completed_at) == ("no more", 4, graph.created_at)
    assert [event.event for event in events] == ["created", "cancelled", "ended"]
    assert (await store.queries.describe(f"{run.id}~c")).reason == "no more"
    assert violations(dump()) == []


async def test_members_that_no_worker_had_yet_are_cancelled(store: Store, clock: Clock) -> None:
    """Those that run, or wait for their next try, run to their end; the graph waits for them."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=5_000))
    run = await submit(store, members("ab", retry=policy) | members("cde"), "a>c", "c>d")
    await run.claim(2)
    await run.fail("b")
    run.held.pop("e", None)
    run_states = await run.states("a", "b", "c", "d")
    assert run_states == "active delayed waiting_children waiting_children"
    await Graphs(store, Payloads(store)).cancel(run.id, policy="cancel_pending")
    assert await run.states("a", "b", "c", "d") == "active delayed cancelled cancelled"
    assert await run.state() == "cancelled+"
    await run.complete("a")
    await clock.advance_and_tick(5_000)
    await run.complete("b")
    await store.executions.cancel(f"{run.id}~e", "")
    assert await run.state() == "cancelled"


async def test_members_may_be_left_alone(store: Store) -> None:
    """They run on, dependents included; the graph is cancelled all the same."""
    run = await submit(store, "a b", "a>b")
    answer = await Graphs(store, Payloads(store)).cancel(run.id, policy="leave")
    assert (answer.state, answer.cancelled) == ("cancelled", 0)
    await run.complete("a", "b")
    assert (await run.states(), await run.state()) == ("completed completed", "cancelled")


async def test_only_a_graph_that_is_under_way_can_be_cancelled(store: Store, dump: Dump) -> None:
    """Once."""
    with pytest.raises(GraphNotFound):
        await Graphs(store, Payloads(store)).cancel("nobody")
    done = await submit(store, "a")
    await done.complete("a")
    twice = await submit(store, "a")
    await Graphs(store, Payloads(store)).cancel(twice.id, policy="leave")
    before = dump()
    for run in (done, twice):
        with pytest.raises(GraphFinished):
            await Graphs(store, Payloads(store)).cancel(run.id)
    assert dump() == before


async def test_a_call_sent_twice_gets_the_same_answer(store: Store, dump: Dump) -> None:
    """Also when the graph has ended meanwhile."""
    run = await submit(store, "a b")
    call = ("hf_graph_cancel", run.tag, run.id, "request", "cancel_all", "")
    first = await store.caller.write(*call)
    before = dump()
    assert await store.caller.write(*call) == first == [b"2"]
    assert dump() == before


async def test_a_caller_that_dies_leaves_nothing_undone(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A large graph is ended by its timer; at every point in between all counts agree."""
    keys = [f"m{n}" for n in range(900)]
    more = [Edge(source=keys[n], target=keys[n + 1]) for n in range(400)]
    run = await submit(store, members(keys), more=more)
    await clock.tick()
    await run.claim(50)
    answer = await Graphs(store, Payloads(store)).cancel(run.id)
    assert answer.cancelled == 100
    ticks = 0
    while await run.state() == "cancelled+":
        assert violations(dump(), clock.now_ms) == []
        await store.timers.tick(run.tag, 1)
        ticks += 1
    assert 1 < ticks < 10
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.cancelled, graph.open) == (900, 0)
    assert violations(dump(), clock.now_ms) == []


async def test_nothing_is_claimed_from_a_graph_that_is_being_cancelled(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A cancel wins against every claim that comes after it, however large the graph is."""
    run = await submit(store, members(f"m{n}" for n in range(300)))
    await clock.tick()
    held = dict(await run.claim(10))
    await Graphs(store, Payloads(store)).cancel(run.id)
    assert await run.claim(100) == held
    assert violations(dump(), clock.now_ms) == []
    await clock.tick()
    assert set((await run.states()).split()) == {"cancelled"}


async def test_pending_members_are_barred_and_others_go_on(store: Store, clock: Clock) -> None:
    """While pending ones are being cancelled, one that had begun is claimed again."""
    run = await submit(store, members(f"m{n}" for n in range(300)))
    await clock.tick()
    (key,) = await run.claim(1)
    await store.leases.revoke(f"{run.id}~{key}", "")
    await Graphs(store, Payloads(store)).cancel(run.id, policy="cancel_pending")
    run.held.clear()
    assert list(await run.claim(200)) == [key]
    await run.complete(key)
    await clock.tick()
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.cancelled, graph.open) == (299, 0)


async def test_waiting_for_a_cancel_names_what_has_not_ended(store: Store) -> None:
    """What runs on is reported, with its id."""
    run = await submit(store, "a b")
    await run.claim(1)
    (key,) = run.held
    answer = await Graphs(store, Payloads(store)).cancel(run.id, policy="cancel_pending", wait_s=0)
    assert (answer.cancelled, answer.failed) == (1, [f"{run.id}~{key}"])

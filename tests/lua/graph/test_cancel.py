"""hf_graph_cancel."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import GraphFinished, GraphNotFound, NotActive
from holdfast.model.graphs import Edge
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.graphs import members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump

#: What each policy makes of a member that runs, one that is ready, and one that waits for both.
_LEFT = {
    "cancel_all": "cancelled cancelled cancelled",
    "cancel_pending": "active cancelled cancelled",
    "leave": "active waiting waiting_children",
}


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


@pytest.mark.parametrize(("policy", "states"), _LEFT.items())
async def test_waiting_for_a_cancel_is_waiting_for_what_it_ends(
    store: Store, policy: str, states: str
) -> None:
    """Members that the policy leaves alone are not waited for, and are no failures."""
    run = await submit(store, "a b c", "a>c", "b>c")
    await run.claim(1)
    graphs = Graphs(store, Payloads(store))
    async with asyncio.timeout(5):
        answer = await graphs.cancel(run.id, policy=policy, wait_s=60)
    ended = states.count("cancelled")
    assert (answer.state, answer.cancelled, answer.failed) == ("cancelled", ended, [])
    assert await run.states() == states
    await graphs.close()


async def test_waiting_for_a_cancel_names_what_has_not_ended(store: Store, clock: Clock) -> None:
    """A large graph whose timer does not fire in time; what runs on is not among it."""
    run = await submit(store, [f"m{n}" for n in range(300)])
    await clock.tick()
    held = set(await run.claim(1))
    graphs = Graphs(store, Payloads(store))
    answer = await graphs.cancel(run.id, policy="cancel_pending", wait_s=0)
    states = (await run.states()).split()
    assert (answer.cancelled, len(answer.failed)) == (100 - 1, states.count("waiting"))
    assert not held & {name.partition("~")[2] for name in answer.failed}


async def test_the_end_of_a_large_cancel_is_reported(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Members that run on keep the graph open, but whoever waits for the cancel hears of it."""
    run = await submit(store, [f"m{n}" for n in range(300)])
    await clock.tick()
    await run.claim(1)
    graphs = Graphs(store, Payloads(store))
    work = graphs.cancel(run.id, policy="cancel_pending", wait_s=60)
    waiting = asyncio.ensure_future(work)

    async def is_watched() -> bool:
        return any(":gs:" in key for key in dump())

    await wait_for(is_watched)
    await clock.tick()
    async with asyncio.timeout(4):
        answer = await waiting
    assert (answer.cancelled, answer.failed) == (299, [])
    assert await run.state() == "cancelled+"
    await graphs.close()

"""hf_graph_create: a whole graph in one call."""

from __future__ import annotations

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import IdConflict, IdempotencyConflict, LaneDraining
from holdfast.model.graphs import Join
from holdfast.model.listing import Filter
from holdfast.model.moments import from_ms
from holdfast.model.retry import RetryPolicy
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import edges, members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, create_one, state_of


async def test_roots_are_ready_and_the_rest_waits(store: Store, dump: Dump) -> None:
    """One call: members, edges, indexes and counts are there together."""
    run = await submit(store, "a b c d", "a>b", "a>c", "b>d", "c>d")
    assert await run.states() == "waiting waiting_children waiting_children waiting_children"
    graph, events = await store.graphs.describe(run.id)
    assert (graph.state, graph.version, graph.size, graph.open) == ("running", 1, 4, 4)
    assert [event.event for event in events] == ["created"]
    assert violations(dump()) == []
    assert list(await run.claim()) == ["a"]


async def test_a_member_is_an_execution_like_any_other(store: Store, clock: Clock) -> None:
    """It has all fields of one, and says which graph it belongs to."""
    policy = RetryPolicy(max_attempts=3)
    made = members(["a"], lane="bulk", priority=5, requires=("gpu",), tags={"t": "1"}, retry=policy)
    made |= members(["b"], deadline_ms=5_000, tags={"t": "1"})
    run = await submit(store, made, "a>b")
    a = await store.queries.describe(f"{run.id}~a")
    assert (a.lane, a.priority, a.requires, a.tags, a.graph) == (
        "bulk", 5, ("gpu",), {"t": "1"}, run.id,
    )  # fmt: skip
    b = await store.queries.describe(f"{run.id}~b")
    assert (b.state, b.graph, b.deadline_at) == (
        State.WAITING_CHILDREN, run.id, from_ms(clock.now_ms + 5_000),
    )  # fmt: skip
    vector = b.state_vector
    assert (vector.eligibility, vector.blocking_reason) == (
        "blocked_by_dependencies", "waiting_for_children",
    )  # fmt: skip
    listed = await store.queries.list_executions(Filter(graph=run.id), 10, None)
    assert [item.id for item in listed.items] == [f"{run.id}~b", f"{run.id}~a"]
    tagged = await store.queries.list_executions(Filter(tag=("t", "1")), 10, None)
    assert len(tagged.items) == 2


async def test_all_members_live_in_the_partition_of_their_graph(store: Store) -> None:
    """So the end of one can start the next in the same call."""
    run = await submit(store, "a b c", "a>b")
    assert {store.tag_of(f"{run.id}~{key}") for key in "abc"} == {run.tag}


async def test_the_same_key_is_the_same_graph(store: Store, dump: Dump) -> None:
    """Same content: a duplicate, whatever became of it. Other content: a conflict."""
    graphs = Graphs(store, Payloads(store))
    made, joins = members("ab"), {"b": Join.any()}
    first = await graphs.submit(made, edges("a>b"), joins, idempotency_key="k")
    before = dump()
    again = await graphs.submit(made, edges("a>b"), joins, idempotency_key="k")
    assert (again.id, again.duplicate, first.duplicate) == (first.id, True, False)
    assert again.members == first.members == {"a": f"{first.id}~a", "b": f"{first.id}~b"}
    others = [
        (members("abc"), edges("a>b"), joins),
        (made, edges("a!b"), joins),
        (made, edges("a>b"), {}),
        (members("ab", kind="other"), edges("a>b"), joins),
    ]
    for other in others:
        with pytest.raises(IdempotencyConflict):
            await graphs.submit(*other, idempotency_key="k")
    assert dump() == before
    assert (await graphs.submit(made, tenant="other", idempotency_key="k")).id != first.id


async def test_an_id_of_ones_own(store: Store) -> None:
    """As for executions: the same content again is a duplicate."""
    graphs = Graphs(store, Payloads(store))
    await graphs.submit(members("a"), id="mine")
    assert (await graphs.submit(members("a"), id="mine")).duplicate
    with pytest.raises(IdConflict):
        await graphs.submit(members("ab"), id="mine")


async def test_a_refusal_creates_nothing(store: Store, dump: Dump) -> None:
    """One member that cannot be is enough."""
    await store.lanes.set_state("closed", "draining")
    await create_one(store, id="mine~b")
    before = dump()
    with pytest.raises(LaneDraining):
        await submit(store, members("a") | members("b", lane="closed"), "a>b")
    with pytest.raises(IdConflict):
        await submit(store, "a b", "a>b", id="mine")
    assert dump() == before


async def test_a_graph_may_bear_the_id_of_an_execution(store: Store) -> None:
    """They are different things."""
    await create_one(store, id="same")
    run = await submit(store, "a", id="same")
    await run.claim()
    assert await state_of(store, "same") is State.ACTIVE


async def test_a_delay_counts_from_when_the_upstreams_allow(store: Store, clock: Clock) -> None:
    """It is not lost while the member waits, and not used up either."""
    made = members("a") | members("b", delay_ms=10_000) | members("r", delay_ms=5_000)
    run = await submit(store, made, "a>b")
    assert await run.states() == "waiting waiting_children delayed"
    await clock.advance_and_tick(60_000)
    await run.complete("a")
    assert await run.states() == "completed delayed active"
    found = await store.queries.describe(f"{run.id}~b")
    assert found.run_at == from_ms(clock.now_ms + 10_000)
    await clock.advance_and_tick(9_999)
    assert await run.states("b") == "delayed"
    await clock.advance_and_tick(1)
    assert await run.states("b") == "waiting"


async def test_a_member_does_not_start_before_its_time(store: Store, clock: Clock) -> None:
    """`run_at` is a moment; one that has passed delays nothing."""
    early, late = from_ms(clock.now_ms + 1_000), from_ms(clock.now_ms + 60_000)
    made = members("a") | members("b", run_at=early) | members("c", run_at=late)
    run = await submit(store, made, "a>b", "a>c")
    await clock.advance_and_tick(5_000)
    await run.complete("a")
    assert await run.states() == "completed waiting delayed"
    assert (await store.queries.describe(f"{run.id}~c")).run_at == late


async def test_a_member_can_expire_while_it_waits(store: Store, clock: Clock, dump: Dump) -> None:
    """A deadline counts from the creation, whatever it waits for."""
    run = await submit(
        store, members("a") | members("b", deadline_ms=1_000) | members("c"), "a>b", "b>c"
    )
    await clock.advance_and_tick(1_000)
    assert await run.states() == "waiting expired skipped"
    await run.complete("a")
    assert await run.state() == "failed"
    assert violations(dump(), clock.now_ms) == []

"""Bonds: the end of a parent cancels its bound children, and some children take it with them."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import NotActive, ParentEnded
from holdfast.model.executions import Failure, NewExecution
from holdfast.model.graphs import NewGraph, Shape
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.briefs import record_of
from tests.support.graphs import members
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one, state_of

#: How many children one call cancels at once.
AT_ONCE = 100


async def run_parent(store: Store, execution_id: str = "p", **fields: Any) -> Any:
    """Create an execution and claim it."""
    await create_one(store, id=execution_id, **fields)
    return await claim_one(store, execution_id)


async def child(store: Store, execution_id: str, policy: str = "cancel", **fields: Any) -> None:
    """Create a child with a policy."""
    await create_one(store, id=execution_id, on_parent_end=policy, **fields)


async def states(store: Store, *ids: str) -> list[str]:
    """Return the states of executions."""
    return [str(await state_of(store, execution_id)) for execution_id in ids]


async def graph(store: Store, graph_id: str, size: int, policy: str = "cancel") -> None:
    """Create a graph of a task, without edges."""
    shape = Shape(members=members(f"m{n}" for n in range(size)), edges=(), joins={})
    await store.graphs.create(NewGraph(shape=shape, id=graph_id, on_parent_end=policy))


@pytest.mark.parametrize("ending", ["completed", "failed", "cancelled", "expired"])
async def test_bound_children_are_cancelled_with_their_parent(
    store: Store, clock: Clock, dump: Dump, ending: str
) -> None:
    """However it ends; others run on, and a worker that holds one learns of it."""
    parent = await run_parent(store, deadline_ms=5_000)
    for execution_id in ("p~0.1", "p~0.2"):
        await child(store, execution_id)
    await child(store, "p~0.3", "keep")
    held = await claim_one(store, "p~0.1")
    assert (await store.queries.describe("p")).bound == 2
    assert violations(dump()) == []
    match ending:
        case "completed":
            await store.executions.complete("p", parent.lease, b"1")
        case "failed":
            await store.executions.fail("p", parent.lease, Failure(type="e", message="m"))
        case "cancelled":
            await store.executions.cancel("p", "no more")
        case _:
            await clock.advance_and_tick(5_000)
    assert await states(store, "p", "p~0.1", "p~0.2", "p~0.3") == [
        ending,
        "cancelled",
        "cancelled",
        "waiting",
    ]
    assert (await store.queries.describe("p~0.2")).reason == "its parent p has ended"
    with pytest.raises(NotActive):
        await store.executions.complete(held.id, held.lease, b"1")
    assert (await store.queries.describe("p")).bound == 0
    assert violations(dump()) == []


async def test_grandchildren_follow_at_once(store: Store, dump: Dump) -> None:
    """Bonds hold over any number of levels; one that is not bound ends the chain."""
    chain = ["p"] + ["p" + "~0.1" * depth for depth in range(1, 8)]
    for execution_id in chain:
        await create_one(store, id=execution_id, on_parent_end="cancel")
        await claim_one(store, execution_id)
    await child(store, "p~0.2", "keep")
    await claim_one(store, "p~0.2")
    await child(store, "p~0.2~0.1")
    await store.executions.cancel("p", "")
    assert await states(store, *chain) == ["cancelled"] * 8
    assert await states(store, "p~0.2", "p~0.2~0.1") == ["active", "waiting"]
    assert violations(dump()) == []


async def test_one_call_cancels_some_and_the_timer_the_rest(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A thousand children do not block the store; each firing does a bounded part."""
    parent = await run_parent(store)
    items = [
        NewExecution(kind="work", id=f"p~0.{n}", on_parent_end="cancel") for n in range(1, 1_001)
    ]
    await store.executions.create(items)

    async def bound() -> int:
        return int(await store.client.call(["ZCARD", f"{store.tag_of('p')}:bonds:p"]))

    await store.executions.complete("p", parent.lease, b"1")
    assert await bound() == 1_000 - AT_ONCE
    assert violations(dump()) == []
    for left in (500, 100, 0):
        await store.timers.tick(store.tag_of("p"), 100)
        assert await bound() == left
    await clock.tick()
    assert violations(dump()) == []
    counts = {(count.state, count.count) for count in await store.queries.count(None)}
    assert counts == {("completed", 1), ("cancelled", 1_000)}


@pytest.mark.parametrize("ending", ["failed", "cancelled", "expired"])
async def test_a_parent_fails_with_a_child_that_it_cannot_do_without(
    store: Store, clock: Clock, dump: Dump, ending: str
) -> None:
    """Its siblings are cancelled, and the chain goes up as far as the bonds do."""
    await run_parent(store, "g")
    await child(store, "g~0.1", "fail_parent")
    parent = await claim_one(store, "g~0.1")
    await child(store, "g~0.1~0.1", "fail_parent", deadline_ms=5_000)
    held = await claim_one(store, "g~0.1~0.1")
    await child(store, "g~0.1~0.2")
    match ending:
        case "failed":
            await store.executions.fail(held.id, held.lease, Failure(type="e", message="m"))
        case "cancelled":
            await store.executions.cancel(held.id, "")
        case _:
            await clock.advance_and_tick(5_000)
    await clock.tick()
    ended = ["failed", "failed", ending, "cancelled"]
    assert await states(store, "g", "g~0.1", held.id, "g~0.1~0.2") == ended
    error = (await store.queries.describe("g~0.1")).error
    assert error == {"type": "child_failed", "message": f"child {held.id} ended as {ending}"}
    with pytest.raises(NotActive):
        await store.executions.complete(parent.id, parent.lease, b"1")
    assert violations(dump()) == []


async def test_a_child_that_completes_is_released(store: Store, dump: Dump) -> None:
    """Then its parent may end in any way, and the child stays as it is."""
    parent = await run_parent(store)
    await child(store, "p~0.1", "fail_parent")
    held = await claim_one(store, "p~0.1")
    await store.executions.complete(held.id, held.lease, b"1")
    assert await states(store, "p", "p~0.1") == ["active", "completed"]
    await store.executions.complete("p", parent.lease, b"1")
    assert await states(store, "p", "p~0.1") == ["completed", "completed"]
    assert violations(dump()) == []


@pytest.mark.parametrize("execution_id", ["p~0.9", "q~0.1", "r~0.1"])
async def test_nothing_is_bound_to_a_parent_that_has_ended(
    store: Store, dump: Dump, execution_id: str
) -> None:
    """Nor to one that never was, nor to an earlier run of one that was replayed."""
    for parent_id in ("p", "r"):
        parent = await run_parent(store, parent_id)
        await store.executions.complete(parent_id, parent.lease, b"1")
    await store.executions.replay("r", keep_steps=False, from_step="", reason="")
    before = dump()
    item = NewExecution(kind="work", id=execution_id, on_parent_end="cancel")
    (answer,) = await store.executions.create([item])
    assert isinstance(answer, ParentEnded)
    assert answer.context["id"] == execution_id
    assert dump() == before
    with pytest.raises(ParentEnded):
        await graph(store, f"{execution_id[0]}~0.g1", 2)
    assert dump() == before


async def test_a_child_of_another_tenant_is_not_bound(store: Store) -> None:
    """Its id alone gives nobody power over it."""
    await create_one(store, id="p", tenant="acme")
    item = NewExecution(kind="work", id="p~0.1", tenant="bolt", on_parent_end="cancel")
    (answer,) = await store.executions.create([item])
    assert isinstance(answer, ParentEnded)


async def test_submitting_again_finds_the_same_child(store: Store) -> None:
    """Also when the child has ended meanwhile, or its parent; another policy is other content."""
    parent = await run_parent(store)
    await child(store, "p~0.1")
    await store.executions.complete("p", parent.lease, b"1")
    item = NewExecution(kind="work", id="p~0.1", on_parent_end="cancel")
    (answer,) = await store.executions.create([item])
    assert not isinstance(answer, Exception)
    assert answer.duplicate
    assert answer.state == "cancelled"
    other = NewExecution(kind="work", id="p~0.1")
    (refusal,) = await store.executions.create([other])
    assert getattr(refusal, "code", None) == "id_conflict"


async def test_a_replay_of_the_parent_does_not_touch_earlier_children(
    store: Store, dump: Dump
) -> None:
    """Its new children have other ids; a child of the earlier run that was replayed stays free."""
    parent = await run_parent(store)
    await child(store, "p~0.1")
    await store.executions.complete("p", parent.lease, b"1")
    await store.executions.replay("p", keep_steps=False, from_step="", reason="")
    await store.executions.replay("p~0.1", keep_steps=False, from_step="", reason="")
    again, _ = await claim_in(store, store.tag_of("p"), limit=2)
    await child(store, "p~1.1")
    await store.executions.complete("p", again.lease, b"1")
    assert await states(store, "p~0.1", "p~1.1") == ["active", "cancelled"]
    assert violations(dump()) == []


@pytest.mark.parametrize("policy", ["cancel", "fail_parent"])
async def test_a_late_cancel_of_earlier_children_spares_a_replayed_parent(
    store: Store, dump: Dump, policy: str
) -> None:
    """The timer that cancels the rest of them touches neither the parent nor its new children."""
    parent = await run_parent(store)
    old = [f"p~0.{n}" for n in range(1, AT_ONCE + 6)]
    items = [NewExecution(kind="work", id=each, on_parent_end=policy) for each in old]
    await store.executions.create(items)
    await store.executions.complete("p", parent.lease, b"1")
    await store.executions.replay("p", keep_steps=False, from_step="", reason="")
    await child(store, "p~1.1", policy)
    await graph(store, "p~1.g1", 2, policy)
    assert (await states(store, *old)).count("waiting") == 5
    assert violations(dump()) == []
    await store.executions.cancel(old[-1], "")
    await store.timers.tick(store.tag_of("p"), 100)
    assert await states(store, "p", "p~1.1") == ["waiting"] * 2
    assert (await store.graphs.describe("p~1.g1"))[0].state == "running"
    assert await states(store, *old) == ["cancelled"] * len(old)
    assert (await store.queries.describe("p")).bound == 2
    assert violations(dump()) == []


async def test_a_parent_that_ends_again_cancels_what_earlier_runs_have_left(
    store: Store, dump: Dump
) -> None:
    """It was replayed before the timer had cancelled them."""
    parent = await run_parent(store)
    old = [f"p~0.{n}" for n in range(1, AT_ONCE + 6)]
    items = [NewExecution(kind="work", id=each, on_parent_end="cancel") for each in old]
    await store.executions.create(items)
    await store.executions.complete("p", parent.lease, b"1")
    await store.executions.replay("p", keep_steps=False, from_step="", reason="")
    assert violations(dump()) == []
    await store.executions.cancel("p", "")
    assert await states(store, *old) == ["cancelled"] * len(old)
    await store.timers.tick(store.tag_of("p"), 100)
    assert violations(dump()) == []


async def test_a_replayed_child_is_bound_again_while_its_parent_runs(
    store: Store, dump: Dump
) -> None:
    """As it was before it ended."""
    parent = await run_parent(store)
    await child(store, "p~0.1")
    await store.executions.cancel("p~0.1", "")
    await store.executions.replay("p~0.1", keep_steps=False, from_step="", reason="")
    assert violations(dump()) == []
    await store.executions.complete("p", parent.lease, b"1")
    assert await states(store, "p~0.1") == ["cancelled"]


async def test_a_bound_graph_is_cancelled_with_its_parent(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """All of its members, however many there are; a graph that is kept runs on."""
    parent = await run_parent(store)
    await graph(store, "p~0.g1", 250)
    await graph(store, "p~0.g2", 2, "keep")
    described, _ = await store.graphs.describe("p~0.g1")
    assert (described.parent, described.on_parent_end) == ("p", "cancel")
    assert (await store.queries.describe("p")).bound == 1
    assert violations(dump()) == []
    await store.executions.complete("p", parent.lease, b"1")
    assert violations(dump()) == []
    while (await store.graphs.describe("p~0.g1"))[0].open:
        await clock.tick()
    cancelled, _ = await store.graphs.describe("p~0.g1")
    assert (cancelled.state, cancelled.cancelled) == ("cancelled", 250)
    assert cancelled.reason == "its parent p has ended"
    assert (await store.graphs.describe("p~0.g2"))[0].state == "running"
    assert violations(dump()) == []


async def test_a_parent_fails_with_its_graph(store: Store, clock: Clock, dump: Dump) -> None:
    """Once the graph has ended as a whole; a graph that is replayed is bound again."""
    for parent, policy in (("p", "fail_parent"), ("q", "cancel")):
        await run_parent(store, parent)
        await graph(store, f"{parent}~0.g1", 2, policy)
        for held in await claim_in(store, store.tag_of(parent), limit=5):
            await store.executions.fail(held.id, held.lease, Failure(type="e", message="m"))
    assert await states(store, "p", "q") == ["failed", "active"]
    error = (await store.queries.describe("p")).error or {}
    assert error["message"] == "child p~0.g1 ended as failed"
    assert violations(dump()) == []
    await Graphs(store, Payloads(store)).replay("q~0.g1")
    assert violations(dump()) == []
    await store.executions.cancel("q", "")
    await clock.tick()
    assert (await store.graphs.describe("q~0.g1"))[0].state == "cancelled"


async def test_executions_without_bonds_pay_nothing(store: Store) -> None:
    """No key, no field."""
    await run_parent(store)
    await child(store, "p~0.1", "keep")
    tag = store.tag_of("p")
    assert await store.client.call(["EXISTS", f"{tag}:bonds:p"]) == 0
    for execution_id in ("p", "p~0.1"):
        assert not {b"bond", b"bonds"} & set(await record_of(store, execution_id))


async def test_a_bound_graph_that_somebody_cancels_stays_bound(store: Store, dump: Dump) -> None:
    """Until it has ended; its parent may still fail with it."""
    await run_parent(store)
    await graph(store, "p~0.g1", 2, "fail_parent")
    await Graphs(store, Payloads(store)).cancel("p~0.g1", policy="leave")
    assert violations(dump()) == []
    for number in range(2):
        await store.executions.cancel(f"p~0.g1~m{number}", "")
    assert await states(store, "p") == ["failed"]
    assert violations(dump()) == []


@pytest.mark.parametrize("policy", ["leave", "cancel_pending", "cancel_all"])
async def test_a_graph_whose_cancel_leaves_members_running_ends_with_its_parent(
    store: Store, clock: Clock, dump: Dump, policy: str
) -> None:
    """Members that a cancel let run are cancelled with the parent, as those of other graphs."""
    parent = await run_parent(store)
    await graph(store, "p~0.g1", 3)
    await claim_in(store, store.tag_of("p"), limit=1)
    await Graphs(store, Payloads(store)).cancel("p~0.g1", policy=policy)
    await store.executions.complete("p", parent.lease, b"1")
    await clock.tick()
    assert await states(store, *(f"p~0.g1~m{n}" for n in range(3))) == ["cancelled"] * 3
    described, _ = await store.graphs.describe("p~0.g1")
    assert (described.open, described.cancelled) == (0, 3)
    assert violations(dump()) == []


async def test_a_graph_that_is_being_cancelled_keeps_its_reason(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """That cancel ends all of its members, so the end of its parent adds nothing."""
    parent = await run_parent(store)
    await graph(store, "p~0.g1", 250)
    await Graphs(store, Payloads(store)).cancel("p~0.g1", reason="enough")
    await store.executions.complete("p", parent.lease, b"1")
    while (await store.graphs.describe("p~0.g1"))[0].open:
        await clock.tick()
    described, _ = await store.graphs.describe("p~0.g1")
    assert (described.cancelled, described.reason) == (250, "enough")
    assert violations(dump()) == []

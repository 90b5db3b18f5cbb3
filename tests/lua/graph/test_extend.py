"""hf_graph_extend: members and edges for a graph that is under way."""

from __future__ import annotations

import json

import pytest

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import (
    CycleDetected,
    GraphFinished,
    GraphNotFound,
    HoldfastError,
    InvalidGraph,
    LaneDraining,
    MemberStarted,
    StaleGraph,
)
from holdfast.model.graphs import Edge, Join, Shape
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import edges, members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump
from tests.support.limits import admit, grant_one, make_quota


async def test_a_member_is_added(store: Store, dump: Dump) -> None:
    """The version says so, and the member waits for what is there."""
    run = await submit(store, "a b", "a>b")
    answer = await Graphs(store, Payloads(store)).extend(
        run.id, 1, members=members("c"), edges=edges("a>c", "b>c")
    )
    assert (answer.version, answer.members) == (2, {"c": f"{run.id}~c"})
    await run.complete("a")
    assert await run.states() == "completed waiting waiting_children"
    await run.complete("b", "c")
    assert await run.state() == "completed"
    _, events = await store.graphs.describe(run.id)
    assert [event.event for event in events] == ["created", "extended", "ended"]
    assert violations(dump()) == []


@pytest.mark.parametrize(
    ("edge", "how", "state"),
    [
        ("a>c", "completed", "waiting"), ("a>c", "failed", "skipped"),
        ("a!c", "completed", "skipped"), ("a!c", "failed", "waiting"),
        ("a*c", "cancelled", "waiting"),
    ],
)  # fmt: skip
async def test_an_upstream_that_has_ended_is_heard_at_once(
    store: Store, dump: Dump, edge: str, how: str, state: str
) -> None:
    """Nobody waits for ever for what has happened."""
    run = await submit(store, "a b")
    await run.end("a", how)
    await Graphs(store, Payloads(store)).extend(run.id, 1, members=members("c"), edges=edges(edge))
    assert await run.states("c") == state
    assert violations(dump()) == []


async def test_a_failure_may_be_taken_up_later(store: Store) -> None:
    """A handler that is added for it does."""
    run = await submit(store, "a b")
    await run.fail("a")
    await Graphs(store, Payloads(store)).extend(run.id, 1, members=members("h"), edges=edges("a!h"))
    await run.complete("b", "h")
    assert await run.state() == "completed"


async def test_an_edge_is_added_between_members(store: Store, dump: Dump) -> None:
    """One that waits gets one more upstream; one that is ready waits again."""
    made = members("abc") | members("d", delay_ms=60_000)
    run = await submit(store, made, "a>b")
    extend = Graphs(store, Payloads(store)).extend
    assert (await extend(run.id, 1, edges=edges("c>b:x", "a>c", "a>d"))).version == 2
    assert await run.states() == "waiting waiting_children waiting_children waiting_children"
    assert violations(dump()) == []
    await run.complete("a")
    assert await run.states("b", "c", "d") == "waiting_children waiting delayed"
    await run.complete("c", result=b'"r"')
    assert (await run.claim())["b"].input == b'{"x":"r"}'


async def test_a_member_whose_limits_are_being_asked_waits_again(store: Store, dump: Dump) -> None:
    """What its quota has admitted is given back, because its grant is void."""
    await make_quota(store)
    run = await submit(store, members("ab") | members("c", quotas=("q",), priority=1))
    asked, grant = await grant_one(store, f"{run.id}~c")
    assert await admit(store, grant.execution_id, grant.epoch)
    await Graphs(store, Payloads(store)).extend(run.id, 1, edges=edges("a>c"))
    assert await store.executions.activate(run.tag, asked, [(grant, None)]) == []
    assert await run.states("c") == "waiting_children"
    assert await store.outboxes.read(run.tag) == [f"r\n{grant.execution_id}\n1\n0\nq:q".encode()]
    assert violations(dump()) == []
    await run.complete("a")
    _, again = await grant_one(store, grant.execution_id)
    assert again.epoch == 2


async def test_a_member_may_take_up_a_failure_later(store: Store, dump: Dump) -> None:
    """One that waits for another one, and one that is ready."""
    run = await submit(store, "a b c d", "b>c")
    extend = Graphs(store, Payloads(store)).extend
    await extend(run.id, 1, edges=edges("a!c:x", "b*d"))
    assert await run.states() == "waiting waiting waiting_children waiting_children"
    assert violations(dump()) == []
    await run.complete("b")
    await run.fail("a")
    assert list(json.loads((await run.claim())["c"].input)) == ["x"]
    await run.complete("c", "d")
    assert await run.state() == "completed"


async def test_a_member_that_has_started_takes_no_upstreams(store: Store, dump: Dump) -> None:
    """Also one that its upstreams have released, or that has ended."""
    run = await submit(store, "a b c d", "a>b")
    await run.complete("a")
    await run.claim(1)
    before = dump()
    for target in "abc":
        with pytest.raises(MemberStarted) as raised:
            await Graphs(store, Payloads(store)).extend(run.id, 1, edges=edges(f"d>{target}"))
        assert raised.value.context["member"] == target
    assert dump() == before


async def test_a_quorum_grows_with_its_upstreams(store: Store) -> None:
    """K stays; how many may fail follows from how many there are."""
    run = await submit(store, "a b d", "a>d", "b>d", joins={"d": Join.quorum(2)})
    await Graphs(store, Payloads(store)).extend(run.id, 1, members=members("c"), edges=edges("c>d"))
    await run.fail("a")
    assert await run.states("d") == "waiting_children"
    await run.complete("b", "c")
    assert await run.states("d") == "waiting"


@pytest.mark.parametrize(
    ("added", "error", "problem"),
    [
        (("", ("b>a",)), CycleDetected, "cycle"),
        (("d", ("b>d", "d>a")), CycleDetected, "cycle"),
        (("", ("c>c",)), CycleDetected, "self_edge"),
        (("", ("a>b",)), InvalidGraph, "duplicate_edge"),
        (("", ("a>nobody",)), InvalidGraph, "unknown_member"),
        (("d", ("nobody>d",)), InvalidGraph, "unknown_member"),
        (("a", ()), InvalidGraph, "duplicate_member"),
        (("", ()), InvalidGraph, "nothing_to_add"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    store: Store,
    dump: Dump,
    added: tuple[str, tuple[str, ...]],
    error: type[HoldfastError],
    problem: str,
) -> None:
    """With its own word, and nothing is written."""
    run = await submit(store, "a b c", "a>b")
    before = dump()
    keys, texts = added
    with pytest.raises(error) as raised:
        await Graphs(store, Payloads(store)).extend(
            run.id, 1, members=members(keys), edges=edges(*texts)
        )
    assert (type(raised.value), raised.value.context["problem"]) == (error, problem)
    assert dump() == before


async def test_the_store_knows_its_members(store: Store, dump: Dump) -> None:
    """What the caller did not check is checked again where it counts."""
    run = await submit(store, "a b")
    before = dump()
    for text in ("a>nobody", "nobody>b"):
        with pytest.raises(InvalidGraph) as raised:
            await store.graphs.extend(run.id, 1, Shape(members={}, edges=edges(text)))
        assert raised.value.context == {
            "id": run.id,
            "problem": "unknown_member",
            "member": "nobody",
        }
    assert dump() == before


async def test_the_version_must_be_the_known_one(store: Store, dump: Dump) -> None:
    """Only a change of shape bumps it."""
    run = await submit(store, "a b", "a>b")
    await run.complete("a")
    await Graphs(store, Payloads(store)).extend(run.id, 1, members=members("c"))
    before = dump()
    for version in (1, 3):
        with pytest.raises(StaleGraph) as raised:
            await Graphs(store, Payloads(store)).extend(run.id, version, members=members("d"))
        assert raised.value.context == {"id": run.id, "revision": 2}
    assert dump() == before
    assert (await Graphs(store, Payloads(store)).grow(run.id, members=members("d"))).version == 3


async def test_a_graph_that_has_ended_takes_nothing(store: Store, clock: Clock) -> None:
    """Completed, cancelled, or past its deadline."""
    done = await submit(store, "a")
    await done.complete("a")
    cancelled = await submit(store, "a b")
    await Graphs(store, Payloads(store)).cancel(cancelled.id, policy="leave")
    expired = await submit(store, "a", deadline_ms=1_000)
    await clock.advance_and_tick(1_000)
    for run in (done, cancelled, expired):
        with pytest.raises(GraphFinished):
            await Graphs(store, Payloads(store)).extend(run.id, 1, members=members("z"))
    with pytest.raises(GraphNotFound):
        await Graphs(store, Payloads(store)).extend("nobody", 1, members=members("z"))


async def test_a_lane_that_drains_takes_no_member(store: Store) -> None:
    """As for any execution."""
    run = await submit(store, "a")
    await store.lanes.set_state("closed", "draining")
    with pytest.raises(LaneDraining):
        await Graphs(store, Payloads(store)).extend(run.id, 1, members=members("b", lane="closed"))


async def test_a_call_sent_twice_extends_once(store: Store, dump: Dump) -> None:
    """The second gets the answer of the first, also after a later one."""
    run = await submit(store, "a")
    tag = store.tag_of(run.id)
    call = ("hf_graph_extend", tag, run.id, "request", "1", b"\x90")
    assert await store.caller.write(*call) == [2]
    await Graphs(store, Payloads(store)).extend(run.id, 2, members=members("b"))
    before = dump()
    assert await store.caller.write(*call) == [2]
    assert dump() == before


async def test_a_graph_keeps_the_last_two_hundred_events(store: Store) -> None:
    """However often it is extended; when it was created is known besides."""
    run = await submit(store, "a")
    for version in range(1, 211):
        await store.graphs.extend(run.id, version, Shape(members=members([f"m{version}"])))
    _, (created, *events) = await store.graphs.describe(run.id)
    assert created.event == "created"
    assert [event.data["revision"] for event in events] == list(range(12, 212))


async def test_a_graph_has_room_for_ten_thousand(store: Store) -> None:
    """The store counts them, too."""
    run = await submit(store, members(f"m{n}" for n in range(10_000)))
    with pytest.raises(InvalidGraph) as raised:
        await store.graphs.extend(run.id, 1, Shape(members=members("z")))
    assert raised.value.context["problem"] == "too_many_members"


async def test_an_edge_from_a_member_whose_end_is_being_told(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """A fan-out that goes on by timer hears of the new edge, once."""
    keys = [f"m{n}" for n in range(150)]
    run = await submit(
        store, members(["a", "b", *keys]), more=[Edge(source="a", target=key) for key in keys]
    )
    await run.complete("a")
    assert await run.states("m0", "m149") == "waiting waiting_children"
    await Graphs(store, Payloads(store)).extend(
        run.id, 1, members=members("z"), edges=edges("a>z", "b>z")
    )
    assert await run.states("z") == "waiting_children"
    await clock.tick()
    assert await run.states("m149", "z") == "waiting waiting_children"
    assert violations(dump()) == []
    await run.complete("b")
    assert await run.states("z") == "waiting"


async def test_an_edge_to_a_member_that_has_not_been_started(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """Large graphs start by timer; until then their shape may change."""
    run = await submit(store, members(f"m{n}" for n in range(600)))
    await Graphs(store, Payloads(store)).extend(run.id, 1, edges=edges("m0>m599"))
    assert await run.states("m0", "m599") == "waiting waiting_children"
    await clock.tick()
    assert await run.states("m598", "m599") == "waiting waiting_children"
    assert violations(dump()) == []
    await run.complete("m0")
    assert await run.states("m599") == "waiting"

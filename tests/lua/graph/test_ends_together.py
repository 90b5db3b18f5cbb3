"""Members that end in one call, and members that become ready together."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.engine.payloads import Payloads
from holdfast.model.calls import Completion
from holdfast.model.executions import NewExecution
from holdfast.model.frames import NewFrame
from holdfast.model.graphs import CancelPolicy, Join, member_id
from holdfast.model.ids import new_id
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import GraphRun, members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_in
from tests.support.limits import claim_as_before, wanted
from tests.support.mailbox import Mailbox
from tests.support.streaming import read_all


async def test_a_join_starts_when_all_its_upstreams_end_in_one_call(
    store: Store, dump: Dump
) -> None:
    """It is counted once for each, and ready once."""
    run = await submit(store, "a b c d", "a>d:x", "b>d:y", "c>d:z")
    assert await run.complete_together("a", "b") == "ok ok"
    assert await run.states("d") == "waiting_children"
    assert violations(dump()) == []
    assert await run.complete_together("c") == "ok"
    assert await run.states("d") == "waiting"
    assert violations(dump()) == []
    held = await run.claim()
    assert held["d"].input == b'{"x":1,"y":1,"z":1}'
    await run.complete("d")
    assert await run.state() == "completed"
    assert violations(dump()) == []


async def test_a_join_that_starts_is_told_once(store: Store) -> None:
    """Though several of its upstreams end in one call."""
    run = await submit(store, "a b c", "a>c", "b>c")
    await store.feeds.listen(run.tag, "default")
    await run.complete_together("a", "b")
    _, rows = await store.feeds.read(run.tag, "default", "-", 100)
    changes = [(row.before, row.state) for row in rows if row.execution == member_id(run.id, "c")]
    assert changes == [("waiting_children", "waiting")]


async def test_a_member_that_starts_keeps_its_requirements_and_its_trace(store: Store) -> None:
    """Only a worker with the capability gets it, with the trace of its submission."""
    trace = f"00-{'1' * 32}-{'2' * 16}-01"
    made = members("a") | members("b", requires=("gpu",), traceparent=trace)
    run = await submit(store, made, "a>b")
    await run.complete("a")
    assert await claim_in(store, run.tag) == []
    (claim,) = await claim_in(store, run.tag, capabilities=["gpu"])
    assert (claim.requires, claim.traceparent) == (("gpu",), trace)


@pytest.mark.parametrize("size", [1, 100])
async def test_what_upstreams_pass_on_is_added_to_an_input(store: Store, size: int) -> None:
    """Whatever its size; processes of 0.2.0 get the same."""
    made = members("a") | members("bc", requires=("gpu",), input=b'{"own":"%s"}' % (b"x" * size))
    run = await submit(store, made, "a>b:x", "a>c:x")
    await run.complete("a")
    merged = b'{"own":"%s","x":1}' % (b"x" * size)
    (claim,) = await claim_in(store, run.tag, capabilities=["gpu"])
    assert (claim.requires, claim.input) == (("gpu",), merged)
    claims, _ = await claim_as_before(store, run.tag, wanted(limit=1, capabilities=["gpu"]))
    (claim,) = await Payloads(store).open_claims(claims)
    assert (claim.requires, claim.input) == (("gpu",), merged)


@pytest.mark.parametrize("size", [1, 100])
async def test_a_member_ends_with_the_content_type_of_its_result(store: Store, size: int) -> None:
    """Whatever its size."""
    run = await submit(store, "a b", "a>b")
    claim = (await run.claim())["a"]
    await store.executions.complete(claim.id, claim.lease, b"x" * size, "text/plain")
    outcome = await store.executions.outcome(claim.id)
    assert outcome is not None
    assert (outcome.result, outcome.content_type) == (b"x" * size, "text/plain")
    assert await run.states() == "completed waiting"


async def test_ends_of_several_graphs_in_one_call(store: Store, dump: Dump) -> None:
    """Each goes on, or ends with its last member."""
    root = new_id()
    chain = await submit(store, "a b", "a>b", id=f"{root}~0.g1")
    single = await submit(store, "a", id=f"{root}~0.g2")
    claims = {claim.id: claim for claim in await claim_in(store, chain.tag, limit=2)}
    items = [Completion(claim.id, claim.lease, b"1") for claim in claims.values()]
    assert await store.executions.complete_many(items) == [None, None]
    assert (await chain.states(), await chain.state()) == ("completed waiting", "running")
    assert (await single.states(), await single.state()) == ("completed", "completed")
    assert violations(dump()) == []


async def test_a_member_that_one_end_cancels_cannot_end_in_the_same_call(
    store: Store, dump: Dump
) -> None:
    """The winner of a race is recorded before the loser is answered."""
    run = await submit(
        store, "x a b d", "x>a", "a>d", "b>d", joins={"d": Join.any(losers="cancel")}
    )
    assert await run.complete_together("x") == "ok"
    assert await run.complete_together("a", "b") == "ok not_active"
    assert await run.states() == "completed completed cancelled waiting"
    assert violations(dump()) == []


async def test_an_end_sent_twice_in_one_call_is_counted_once(store: Store, dump: Dump) -> None:
    """Both get the same answer."""
    run = await submit(store, "a b c", "a>c", "b>c")
    claim = (await run.claim()).pop("a")
    item = Completion(claim.id, claim.lease, b"1")
    assert await store.executions.complete_many([item, item]) == [None, None]
    assert await run.states() == "completed active waiting_children"
    graph, _ = await store.graphs.describe(run.id)
    assert graph.open == 2
    assert violations(dump()) == []


async def test_a_refused_end_between_others(store: Store, clock: Clock, dump: Dump) -> None:
    """An expired lease ends nothing, and those beside it end as ever."""
    run = await submit(store, "a b c d", "a>d", "b>d", "c>d")
    short = await claim_in(store, run.tag, limit=1, lease_ms=1000)
    await clock.advance(1000)
    held = await run.claim()
    assert sorted(held) == ["b", "c"]
    items = [Completion(claim.id, claim.lease, b"1") for claim in (held["b"], short[0], held["c"])]
    answers = await store.executions.complete_many(items)
    assert [answer and answer.code for answer in answers] == [None, "stale_lease", None]
    assert await run.states() == "active completed completed waiting_children"
    assert violations(dump(), clock.now_ms) == []


async def _particular(store: Store, what: str) -> GraphRun:
    """Return a graph in which one of two dependents of a member is particular."""
    more: dict[str, dict[str, Any]] = {
        "delay": {"delay_ms": 1000},
        "deadline": {"deadline_ms": 9000},
        "tag": {"tags": {"x": "y"}},
    }
    made = {
        "a": NewExecution(kind="work"),
        "b": NewExecution(kind="work", **more.get(what, {})),
        "c": NewExecution(kind="work", priority=5),
    }
    texts = ("a*b", "a>c") if what == "always" else ("a>b", "a>c")
    joins = {"b": Join.any()} if what == "any" else {}
    return await submit(store, made, *texts, joins=joins)


@pytest.mark.parametrize("what", ["delay", "deadline", "tag", "always", "any"])
async def test_a_particular_dependent_beside_others(
    store: Store, clock: Clock, dump: Dump, what: str
) -> None:
    """Both are started, each in its own way."""
    run = await _particular(store, what)
    await run.complete("a")
    before = "delayed" if what == "delay" else "waiting"
    assert await run.states() == f"completed {before} waiting"
    assert violations(dump(), clock.now_ms) == []
    await clock.advance_and_tick(1000)
    assert await run.complete_together("b", "c") == "ok ok"
    assert await run.state() == "completed"
    assert violations(dump(), clock.now_ms) == []


async def test_an_end_in_a_graph_that_is_being_cancelled(store: Store, dump: Dump) -> None:
    """It is recorded, and nothing follows from it."""
    run = await submit(store, "a b c", "a>c", "b>c")
    await run.claim()
    await store.graphs.cancel(run.id, CancelPolicy.PENDING, "")
    assert await run.complete_together("a", "b") == "ok ok"
    assert (await run.states(), await run.state()) == ("completed completed cancelled", "cancelled")
    assert violations(dump()) == []


async def test_a_ready_member_of_a_muted_graph_is_not_claimed(store: Store, clock: Clock) -> None:
    """Its cancellation is on its way, by timer."""
    run = await submit(store, members(f"m{n}" for n in range(500)))
    await store.graphs.cancel(run.id, CancelPolicy.ALL, "")
    assert await claim_in(store, run.tag, limit=10) == []
    await clock.tick()
    assert await run.state() == "cancelled"


async def test_a_watched_member_announces_its_end(
    store: Store, mailbox: Mailbox, dump: Dump
) -> None:
    """A process that waits for a member makes it particular."""
    run = await submit(store, "a b", "a>b")
    await store.executions.watch(member_id(run.id, "a"), mailbox.process)
    await run.complete("a")
    assert await mailbox.wait() == [f"completed {run.id}~a"]
    assert await run.states() == "completed waiting"
    assert violations(dump()) == []


async def test_last_frames_and_large_results_of_members(store: Store, dump: Dump) -> None:
    """They come with the end, as for every execution."""
    run = await submit(store, "a b", "a>b:x")
    claim = (await run.claim()).pop("a")
    large = b'"' + b"x" * 300 + b'"'
    frame = NewFrame(type="text", payload=b"hello", place=1)
    await store.executions.complete(claim.id, claim.lease, large, "application/json", [frame])
    assert [one.payload for one in await read_all(store, claim.id)] == [b"hello"]
    held = await run.claim()
    assert held["b"].input == b'{"x":' + large + b"}"
    assert violations(dump()) == []


async def test_members_of_other_releases_have_rows(store: Store) -> None:
    """A process that does not ask for short answers gets the fields of members with upstreams."""
    run = await submit(store, "a b", "a>b:x")
    await run.complete("a")
    args = ["r1", "w", "1", "1000", "", "default", "", ""]
    (row,) = await store.caller.write("hf_execution_claim_many", run.tag, *args)
    member, fields, payload, tags, steps, signals, passed = row
    names = dict(zip(fields[::2], fields[1::2], strict=True))
    assert (member, payload, tags, steps, signals) == (
        f"{run.id}~b".encode(),
        b"null",
        b"",
        b"",
        b"",
    )
    assert (names[b"kind"], names[b"attempts"], names[b"epoch"]) == (b"work", b"1", b"1")
    assert passed == [[b"x", b"s", f"{run.id}~a".encode(), b"completed", b"", b"1"]]

"""hf_graph_replay: what failed runs again, what succeeded stays."""

from __future__ import annotations

from holdfast.engine.graphs import Graphs
from holdfast.engine.payloads import Payloads
from holdfast.errors import GraphNotFinished, GraphNotFound, MemberOfGraph, NothingToReplay
from holdfast.model.graphs import Edge, Join
from holdfast.model.moments import from_ms
from holdfast.model.states import AttemptKind
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, refused


async def test_the_failed_part_runs_again(store: Store, dump: Dump) -> None:
    """Failed and skipped members are open again; those that completed are kept."""
    run = await submit(store, "a b c d", "a>b", "b>c", "c>d")
    await run.complete("a")
    await run.fail("b")
    assert await run.state() == "failed"
    await Graphs(store, Payloads(store)).replay(run.id, reason="fixed")
    assert await run.states() == "completed waiting waiting_children waiting_children"
    assert violations(dump()) == []
    claim = (await run.claim())["b"]
    assert (claim.attempt_kind, claim.replays, claim.lease.attempt) == (AttemptKind.REPLAY, 1, 1)
    await run.complete("b", "c", "d")
    graph, events = await store.graphs.describe(run.id)
    assert (graph.state, graph.failures, graph.replays) == ("completed", 0, 1)
    assert [e.event for e in events] == ["created", "ended", "replayed", "ended"]
    assert events[2].data == {"reason": "fixed"}
    assert violations(dump()) == []


async def test_a_member_that_fails_again_can_be_replayed_again(store: Store, dump: Dump) -> None:
    """A replay leaves nothing behind that prevents the next one."""
    run = await submit(store, "a b", "a>b")
    for _ in range(3):
        await run.fail("a")
        await Graphs(store, Payloads(store)).replay(run.id)
        assert await run.states() == "waiting waiting_children"
        assert violations(dump()) == []
    await run.complete("a", "b")
    assert await run.state() == "completed"


async def test_a_quorum_that_was_lost_gets_another_chance(store: Store, dump: Dump) -> None:
    """Failures and cancelled losers run again, the success counts as before."""
    run = await submit(
        store,
        "a b c e d",
        *(f"{key}>d" for key in "abce"),
        joins={"d": Join.quorum(3, losers="cancel")},
    )
    await run.complete("a")
    await run.fail("b", "c")
    assert await run.states() == "completed failed failed cancelled skipped"
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states() == "completed waiting waiting waiting waiting_children"
    assert violations(dump()) == []
    await run.complete("b", "c")
    assert await run.states("e", "d") == "cancelled waiting"
    await run.complete("d")
    assert await run.state() == "completed"


async def test_what_a_join_did_without_stays_as_it_is(store: Store) -> None:
    """The quorum was reached; only what came after it failed."""
    run = await submit(store, "a b d", "a>d", "b>d", joins={"d": Join.any()})
    await run.fail("a")
    await run.complete("b")
    await run.fail("d")
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states() == "failed completed waiting"
    await run.complete("d")
    assert await run.state() == "completed"


async def test_a_failure_that_was_taken_up_runs_again_if_it_keeps_others_from_running(
    store: Store,
) -> None:
    """D was skipped because of both; one alone would not help it."""
    run = await submit(store, "a b h d", "a!h", "a>d", "b>d")
    await run.fail("a", "b")
    await run.complete("h")
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states() == "waiting waiting completed waiting_children"
    await run.complete("a", "b", "d")
    assert await run.state() == "completed"


async def test_a_failure_that_was_taken_up_stays_if_others_waited_for_it(store: Store) -> None:
    """D waited for it to fail, and was skipped because of another one."""
    run = await submit(store, "a b h d", "a!h", "a!d", "b>d")
    await run.fail("a", "b")
    await run.complete("h")
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states() == "failed waiting completed waiting_children"
    await run.complete("b", "d")
    assert await run.state() == "completed"


async def test_a_handler_is_not_run_for_a_failure_that_is_gone(store: Store) -> None:
    """It failed with its upstream; now the upstream succeeds."""
    run = await submit(store, "a b h d", "a!h", "a>d", "b>d", "b>h")
    await run.complete("b")
    await run.fail("a", "h")
    assert await run.states() == "failed completed failed skipped"
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states("a", "h", "d") == "failed waiting skipped"


async def test_a_branch_that_was_not_taken_stays_untaken(store: Store) -> None:
    """It was skipped because of a success."""
    run = await submit(store, "a h b", "a!h", "a>b")
    await run.complete("a")
    await run.fail("b")
    await Graphs(store, Payloads(store)).replay(run.id)
    assert await run.states() == "completed skipped waiting"


async def test_a_cancelled_graph_goes_on(store: Store, dump: Dump) -> None:
    """Everything that was cancelled is open again."""
    run = await submit(store, "a b c", "a>b", "b>c")
    await run.complete("a")
    await Graphs(store, Payloads(store)).cancel(run.id, reason="no")
    await Graphs(store, Payloads(store)).replay(run.id)
    assert (await run.states(), await run.state()) == (
        "completed waiting waiting_children",
        "running",
    )
    assert violations(dump()) == []
    await run.complete("b", "c")
    graph, _ = await store.graphs.describe(run.id)
    assert (graph.state, graph.reason, graph.cancel_policy) == ("completed", None, None)


async def test_a_deadline_counts_from_the_replay(store: Store, clock: Clock) -> None:
    """That of the graph, and those of members."""
    made = members("a") | members("b", deadline_ms=2_000)
    run = await submit(store, made, "a>b", deadline_ms=5_000)
    await clock.advance_and_tick(5_000)
    assert await run.states() == "expired expired"
    await Graphs(store, Payloads(store)).replay(run.id)
    graph, _ = await store.graphs.describe(run.id)
    assert graph.deadline_at == from_ms(clock.now_ms + 5_000)
    b = await store.queries.describe(f"{run.id}~b")
    assert b.deadline_at == from_ms(clock.now_ms + 2_000)
    await clock.advance_and_tick(2_000)
    assert await run.states("b") == "expired"


async def test_steps_and_results_of_the_last_try_are_gone(store: Store) -> None:
    """As in a replay of an execution."""
    run = await submit(store, "a")
    claim = (await run.claim())["a"]
    await store.executions.checkpoint(claim.id, claim.lease, "s", b"1")
    await run.fail("a")
    await Graphs(store, Payloads(store)).replay(run.id)
    assert (await run.claim())["a"].steps == {}


async def test_a_member_is_not_replayed_alone(store: Store, dump: Dump) -> None:
    """The graph would not know; the refusal says what to do."""
    run = await submit(store, "a b")
    await run.complete("a")
    call = store.executions.replay(f"{run.id}~a", keep_steps=False, from_step="", reason="")
    await refused(call, MemberOfGraph, dump, id=f"{run.id}~a", graph=run.id)


async def test_only_a_graph_that_has_ended_badly_can_be_replayed(store: Store, dump: Dump) -> None:
    """Not one that runs, nor one whose failures were all taken up."""
    replay = Graphs(store, Payloads(store)).replay
    await refused(replay("nobody"), GraphNotFound, dump, id="nobody")
    run = await submit(store, "a h", "a!h")
    await run.fail("a")
    await refused(replay(run.id), GraphNotFinished, dump, id=run.id, state="running")
    await run.complete("h")
    await refused(replay(run.id), NothingToReplay, dump, id=run.id, state="completed")


async def test_a_call_sent_twice_replays_once(store: Store, dump: Dump) -> None:
    """Also when the graph has failed again meanwhile."""
    run = await submit(store, "a")
    await run.fail("a")
    call = ("hf_graph_replay", run.tag, run.id, "request", "")
    await store.caller.write(*call)
    await run.fail("a")
    before = dump()
    assert await store.caller.write(*call) == [b"running"]
    assert dump() == before


async def test_a_large_replay_goes_on_by_timer(store: Store, clock: Clock, dump: Dump) -> None:
    """Nothing starts before all is open again; at every point the counts agree."""
    keys = [f"m{n}" for n in range(250)]
    more = [Edge(source="a", target=key) for key in keys]
    more += [Edge(source=key, target="end") for key in keys]
    run = await submit(store, members(["a", *keys, "end"]), more=more)
    await clock.tick()
    await run.fail("a")
    await clock.tick()
    assert await run.state() == "failed"
    await Graphs(store, Payloads(store)).replay(run.id)
    ticks = 0
    while True:
        found = dump()
        if not any(":gw:" in key for key in found):
            break
        assert await run.states("a") in {"failed", "waiting_children", "waiting"}
        assert violations(found, clock.now_ms) == []
        await store.timers.tick(run.tag, 1)
        ticks += 1
    assert ticks > 2
    assert await run.states("a", "m0", "m249", "end") == "waiting" + 3 * " waiting_children"
    await run.complete("a")
    await clock.tick()
    assert set((await run.states(*keys)).split()) == {"waiting"}
    assert violations(dump(), clock.now_ms) == []


async def test_a_cancel_during_a_large_replay_wins(store: Store, clock: Clock, dump: Dump) -> None:
    """What the replay opens, the cancel ends."""
    keys = [f"m{n}" for n in range(300)]
    more = [Edge(source="a", target=key) for key in keys]
    run = await submit(store, members(["a", *keys]), more=more)
    await clock.tick()
    await run.fail("a")
    await clock.tick()
    await Graphs(store, Payloads(store)).replay(run.id)
    await Graphs(store, Payloads(store)).cancel(run.id)
    await clock.tick()
    assert (await run.state(), set((await run.states()).split())) == ("cancelled", {"cancelled"})
    assert violations(dump(), clock.now_ms) == []

"""hf_timer_tick: what graphs leave to their timers."""

from __future__ import annotations

import msgspec
import pytest

from holdfast.model.graphs import Edge, Join
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import GraphRun, members, submit
from tests.support.invariants import violations
from tests.support.lifecycle import Dump

WIDTH = 250


async def fan_out(store: Store, clock: Clock) -> GraphRun:
    """A graph in which many wait for one, and one for the many."""
    keys = [f"m{n}" for n in range(WIDTH)]
    more = [Edge(source="a", target=key) for key in keys]
    more += [Edge(source=key, target="end", input="all[]") for key in keys]
    run = await submit(store, members(["a", *keys, "end"]), more=more)
    await clock.tick()
    return run


@pytest.mark.parametrize("how", ["completed", "failed"])
async def test_a_large_fan_out_goes_on_by_timer(
    store: Store, clock: Clock, dump: Dump, how: str
) -> None:
    """Whoever ended the upstream may die: at every point the data is whole, and it goes on."""
    run = await fan_out(store, clock)
    await run.end("a", how)
    told = (await run.states()).split().count("waiting_children")
    assert WIDTH - 110 < told < WIDTH
    ticks = 0
    while any(":gw:" in key for key in dump()):
        assert violations(dump(), clock.now_ms) == []
        await store.timers.tick(run.tag, 1)
        ticks += 1
    assert ticks < 10
    state = "waiting" if how == "completed" else "skipped"
    assert (await run.states()).split().count(state) == WIDTH + (how == "failed")
    assert violations(dump(), clock.now_ms) == []
    if how == "completed":
        await run.complete(*(f"m{n}" for n in range(WIDTH)))
        claim = (await run.claim())["end"]
        assert msgspec.json.decode(claim.input) == {"all": [1] * WIDTH}
        await run.complete("end")
        assert await run.state() == "completed"
    else:
        assert await run.state() == "failed"


async def test_a_loser_among_many_is_cancelled_by_timer(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """As many as a call may, the rest by the next tick."""
    keys = [f"m{n}" for n in range(WIDTH)]
    more = [Edge(source=key, target="end") for key in keys]
    run = await submit(
        store, members([*keys, "end"]), more=more, joins={"end": Join.any(losers="cancel")}
    )
    await clock.tick()
    await run.claim(1)
    (winner,) = run.held
    claim = run.held[winner]
    await store.executions.complete(claim.id, claim.lease, b"1")
    states = (await run.states()).split()
    assert 50 < states.count("cancelled") < WIDTH - 1
    assert violations(dump(), clock.now_ms) == []
    await clock.tick()
    assert (await run.states()).split().count("cancelled") == WIDTH - 1
    await run.complete("end")
    assert await run.state() == "completed"


async def test_a_graph_expires_with_its_open_members(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """What has ended stays; nothing is skipped because of it."""
    run = await submit(store, "a b c d", "a>b", "b>c", deadline_ms=1_000)
    await run.complete("a")
    await run.claim()
    await clock.advance_and_tick(999)
    assert await run.state() == "running"
    await clock.advance_and_tick(1)
    assert (await run.states(), await run.state()) == (
        "completed expired expired expired",
        "failed",
    )
    history = await store.queries.history(f"{run.id}~c")
    assert history[-1].data["reason"] == "the deadline of the graph has passed"
    assert violations(dump(), clock.now_ms) == []


async def test_a_deadline_that_passes_during_other_work(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """First the one, then the other."""
    keys = [f"m{n}" for n in range(900)]
    more = [Edge(source="a", target=key) for key in keys]
    run = await submit(store, members(["a", *keys]), more=more, deadline_ms=1_000)
    await clock.tick()
    await run.complete("a")
    await clock.advance_and_tick(1_000)
    assert (await run.states()).split().count("expired") == 900
    assert violations(dump(), clock.now_ms) == []


async def test_a_timer_that_is_not_due_is_set_right(store: Store, clock: Clock) -> None:
    """A stray timer of a graph does nothing; one of no graph goes."""
    run = await submit(store, "a", deadline_ms=60_000)
    early = str(clock.now_ms)
    await store.client.call(["ZADD", f"{run.tag}:timers", early, f"g:{run.id}"])
    await store.client.call(["ZADD", f"{run.tag}:timers", early, "g:nobody"])
    await clock.tick()
    found = await store.client.call(["ZRANGE", f"{run.tag}:timers", "0", "-1", "WITHSCORES"])
    assert {name: float(score) for name, score in dict(found).items()} == {
        f"g:{run.id}".encode(): clock.now_ms + 60_000
    }


async def test_one_tick_does_not_do_the_work_of_many_graphs(store: Store, clock: Clock) -> None:
    """However many graphs have work to do at once: the rest is due at once."""
    root = "root"
    keys = [f"m{n}" for n in range(600)]
    more = [Edge(source="a", target=key) for key in keys]
    runs = [
        await submit(store, members(["a", *keys]), more=more, id=f"{root}~{n}") for n in range(3)
    ]
    await clock.tick()
    for run in runs:
        await run.complete("a")
    fired, sleep_ms = await store.timers.tick(runs[0].tag, 100)
    assert (fired, sleep_ms) == (2, 0)
    await clock.tick()
    for run in runs:
        assert set((await run.states(*keys)).split()) <= {"waiting", "active"}


async def test_one_firing_removes_a_small_graph(store: Store, clock: Clock, dump: Dump) -> None:
    """Its timer goes with it."""
    empty = dump()
    run = await submit(store, "a b", "a>b", retention_ms=1_000)
    await run.complete("a", "b")
    await clock.advance(1_000)
    await store.timers.tick(run.tag, 100)
    assert not [key for key in dump().keys() - empty.keys() if not key.endswith(":meta")]

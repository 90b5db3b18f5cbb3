"""hf_execution_explain."""

from __future__ import annotations

from holdfast.errors import ExecutionNotFound
from holdfast.model.graphs import member_id
from holdfast.model.ids import new_id
from holdfast.model.moments import from_ms
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.graphs import submit
from tests.support.lifecycle import (
    Dump,
    claim_one,
    complete_one,
    create_one,
    create_together,
    refused,
)


async def test_a_place_in_the_queue_is_told(store: Store) -> None:
    """How many of the same tenant, with the same requirements, are before it."""
    ids = await create_together(
        store, {}, {"tenant": "other"}, {"requires": ("gpu",)}, {}, {"priority": 9}
    )
    ahead = [(await store.queries.explain_facts(one)).ahead for one in ids]
    assert ahead == [{"work": count} for count in (1, 0, 0, 2, 0)]


async def test_a_place_in_the_queue_is_told_by_kind(store: Store) -> None:
    """Whether other kinds are ahead depends on who has them."""
    kinds = [{"kind": kind} for kind in ("a", "b", "a", "c", "b")]
    ids = await create_together(store, *kinds)
    assert (await store.queries.explain_facts(ids[4])).ahead == {"b": 1, "a": 2, "c": 1}


async def test_a_place_in_the_queue_is_told_for_256_kinds(store: Store) -> None:
    """Those of more kinds are not counted."""
    root = new_id()
    items = [{"id": f"{root}~{n}", "kind": f"k{n:03}"} for n in range(258)]
    *_, last = await create_together(store, *items)
    facts = await store.queries.explain_facts(last)
    assert facts.ahead == {"k257": 0} | {f"k{n:03}": 1 for n in range(256)}


async def test_what_does_not_wait_has_no_place(store: Store) -> None:
    """Delayed, active and ended executions stand in no queue."""
    active = (await claim_one(store, await create_one(store))).id
    ended = await complete_one(store)
    delayed = await create_one(store, delay_ms=1_000)
    standings = [await store.queries.explain_facts(one) for one in (delayed, active, ended)]
    assert [standing.ahead for standing in standings] == [None, None, None]
    states = [standing.execution.state for standing in standings]
    assert states == [State.DELAYED, State.ACTIVE, State.COMPLETED]


async def test_the_setting_of_its_lane_is_told(store: Store) -> None:
    """Paused, draining, or nothing for an open lane."""
    execution_id = await create_one(store, lane="mail")
    assert (await store.queries.explain_facts(execution_id)).lane_setting is None
    await store.lanes.set_state("mail", "paused")
    assert (await store.queries.explain_facts(execution_id)).lane_setting == "paused"
    await store.lanes.set_state("mail", "draining")
    assert (await store.queries.explain_facts(execution_id)).lane_setting == "draining"


async def test_the_time_of_the_store_is_told(store: Store, clock: Clock) -> None:
    """Due times are compared with the clock that they are on."""
    execution_id = await create_one(store, delay_ms=1_000)
    await clock.advance(300)
    standing = await store.queries.explain_facts(execution_id)
    assert standing.now == from_ms(clock.now_ms)
    assert standing.execution.run_at == from_ms(clock.now_ms + 700)


async def test_explaining_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """A wrong id has its own code."""
    await refused(store.queries.explain_facts("nobody"), ExecutionNotFound, dump, id="nobody")


async def test_upstreams_that_have_not_ended_are_told(store: Store) -> None:
    """By their keys, with their states."""
    run = await submit(store, "a b c d", "a>d", "b>d", "c>d")
    await run.complete("b")
    facts = await store.queries.explain_facts(member_id(run.id, "d"))
    assert facts.awaited == {"a": State.ACTIVE, "c": State.ACTIVE}
    assert (await store.queries.explain_facts(member_id(run.id, "a"))).awaited == {}

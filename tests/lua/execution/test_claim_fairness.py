"""hf_execution_claim_many: whose turn it is, by priority, age, tenants and weights."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from holdfast.model.executions import Failure
from holdfast.model.ids import new_id
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import claim_in, claim_one, create_one, create_together

MINUTE_MS = 60_000


async def take(
    store: Store, tag: str, count: int, *, at_once: int = 1, **options: Any
) -> list[str]:
    """Claim `count` executions, `at_once` per call; returns their ids in order."""
    ids: list[str] = []
    while len(ids) < count:
        claims = await claim_in(store, tag, limit=min(at_once, count - len(ids)), **options)
        if not claims:
            break
        ids += [claim.id for claim in claims]
    return ids


async def tenants_of(store: Store, ids: list[str]) -> list[str]:
    return [(await store.queries.describe(one)).tenant for one in ids]


async def fill(store: Store, tenants: dict[str, int], **fields: Any) -> str:
    """Create so many executions of each tenant in one partition; returns its tag."""
    items = [{"tenant": t, **fields} for t, count in tenants.items() for _ in range(count)]
    return store.tag_of((await create_together(store, *items))[0])


async def test_higher_priority_goes_first(store: Store) -> None:
    """At the same age the points decide; equal points go by age."""
    low, normal, high, normal_2 = await create_together(
        store, {"priority": -5}, {}, {"priority": 5}, {}
    )
    ids = await take(store, store.tag_of(low), 4, at_once=4)
    assert ids == [high, normal, normal_2, low]


@pytest.mark.parametrize(("wait_ms", "young_first"), [(MINUTE_MS - 1, True), (MINUTE_MS, False)])
async def test_a_point_of_priority_is_worth_a_minute(
    store: Store, clock: Clock, wait_ms: int, *, young_first: bool
) -> None:
    """A point moves an execution before those up to a minute older, not further."""
    root = new_id()
    old = await create_one(store, id=f"{root}~1")
    await clock.advance(wait_ms)
    young = await create_one(store, id=f"{root}~2", priority=1)
    ids = await take(store, store.tag_of(root), 2)
    assert ids == ([young, old] if young_first else [old, young])


async def test_low_priority_still_moves(store: Store, clock: Clock) -> None:
    """Under a steady flow of important work the unimportant is served when it is old enough."""
    root = new_id()
    low = await create_one(store, id=f"{root}~low", priority=-3)
    served = []
    for n in range(8):
        await create_one(store, id=f"{root}~{n}", priority=2)
        await create_one(store, id=f"{root}~{n}b", priority=2)
        served += await take(store, store.tag_of(root), 2)
        await clock.advance(MINUTE_MS)
    assert low in served
    assert low not in served[:8]


async def test_the_worth_of_a_point_is_a_setting(store: Store, clock: Clock) -> None:
    """With a second per point, a second of age makes up for it."""
    await store.lanes.set_priority_ms(1_000)
    root = new_id()
    old = await create_one(store, id=f"{root}~1")
    await clock.advance(1_000)
    young = await create_one(store, id=f"{root}~2", priority=1)
    assert await take(store, store.tag_of(root), 2) == [old, young]


async def test_a_delayed_execution_is_as_old_as_its_start(store: Store, clock: Clock) -> None:
    """Its age counts from when it could run, so a delay cannot jump the queue."""
    root = new_id()
    delayed = await create_one(store, id=f"{root}~1", delay_ms=10_000)
    await clock.advance(5_000)
    before = await create_one(store, id=f"{root}~2")
    await clock.advance_and_tick(5_000)
    after = await create_one(store, id=f"{root}~3")
    assert await take(store, store.tag_of(root), 3) == [before, delayed, after]


async def test_a_retried_execution_keeps_its_age(store: Store) -> None:
    """A retry goes before work that came after it."""
    policy = RetryPolicy(max_attempts=2, backoff=Backoff(initial_ms=0))
    first, second = await create_together(store, {"retry": policy}, {})
    claim = await claim_one(store, first)
    await store.executions.fail(first, claim.lease, Failure(type="e", message="m"))
    assert await take(store, store.tag_of(first), 2) == [first, second]


@pytest.mark.parametrize("at_once", [1, 3, 12])
async def test_tenants_take_turns(store: Store, at_once: int) -> None:
    """A tenant with little work is not held up by one that filled the lane before."""
    tag = await fill(store, {"big": 30, "small": 6})
    served = await tenants_of(store, await take(store, tag, 12, at_once=at_once))
    assert Counter(served) == {"big": 6, "small": 6}


@pytest.mark.parametrize("at_once", [1, 8])
async def test_weights_are_shares(store: Store, at_once: int) -> None:
    """A weight of three gets three times the claims; the default weight is one."""
    await store.lanes.set_weights("default", {"heavy": 3})
    tag = await fill(store, {"heavy": 45, "light": 45})
    served = await tenants_of(store, await take(store, tag, 40, at_once=at_once))
    assert Counter(served) == {"heavy": 30, "light": 10}


async def test_a_weight_below_one_is_a_smaller_share(store: Store) -> None:
    """Fractions are allowed, and the small share is served too."""
    await store.lanes.set_weights("default", {"light": 0.25})
    tag = await fill(store, {"light": 20, "normal": 40})
    served = await tenants_of(store, await take(store, tag, 40))
    assert Counter(served) == {"normal": 32, "light": 8}


async def test_a_weight_can_be_taken_back(store: Store) -> None:
    """None is the default again."""
    await store.lanes.set_weights("default", {"a": 9})
    await store.lanes.set_weights("default", {"a": None})
    tag = await fill(store, {"a": 10, "b": 10})
    assert Counter(await tenants_of(store, await take(store, tag, 10))) == {"a": 5, "b": 5}


async def test_weights_belong_to_their_lane(store: Store) -> None:
    """A weight on one lane means nothing on another."""
    await store.lanes.set_weights("other", {"a": 9})
    tag = await fill(store, {"a": 10, "b": 10})
    assert Counter(await tenants_of(store, await take(store, tag, 10))) == {"a": 5, "b": 5}


async def test_a_tenant_that_comes_later_gets_its_share_from_then_on(store: Store) -> None:
    """It neither waits for the others to catch up nor makes up for what it missed."""
    tag = await fill(store, {"old": 40})
    await take(store, tag, 20)
    root = same_partition_root(store, tag)
    for n in range(20):
        await create_one(store, id=f"{root}~{n}", tenant="new")
    served = Counter(await tenants_of(store, await take(store, tag, 20)))
    # The newcomer starts at the time of the turn that is going on, which may be one turn more.
    assert served["new"] in {10, 11}


def same_partition_root(store: Store, tag: str) -> str:
    """Mint ids until one lives in the partition."""
    while True:
        root = new_id()
        if store.tag_of(root) == tag:
            return root


async def test_several_routes_of_one_tenant_are_served_oldest_first(store: Store) -> None:
    """Requirements do not split a tenant's queue for a worker that serves them all."""
    ids = await create_together(
        store, {}, {"requires": ("gpu",)}, {}, {"requires": ("eu", "gpu")}, {"requires": ("gpu",)}
    )
    tag = store.tag_of(ids[0])
    assert await take(store, tag, 5, at_once=3, capabilities=["eu", "gpu"]) == ids


async def test_a_tenant_gains_nothing_by_spreading_over_routes(store: Store) -> None:
    """Its turns are counted per lane, however many routes it uses."""
    wide = [{"tenant": "wide", "requires": (f"c{n % 4}",)} for n in range(40)]
    narrow = [{"tenant": "narrow"} for _ in range(20)]
    ids = await create_together(store, *wide, *narrow)
    capabilities = [f"c{n}" for n in range(4)]
    taken = await take(store, store.tag_of(ids[0]), 20, capabilities=capabilities)
    assert Counter(await tenants_of(store, taken)) == {"wide": 10, "narrow": 10}


async def test_lanes_of_one_tenant_are_all_served(store: Store) -> None:
    """A lane without backlog does not wait behind younger work of another."""
    old = [{"lane": "quiet"} for _ in range(5)]
    young = [{"lane": "busy"} for _ in range(30)]
    ids = await create_together(store, *old, *young)
    taken = await take(store, store.tag_of(ids[0]), 12, lanes=["busy", "quiet"])
    assert set(ids[:5]) <= set(taken)


async def test_a_backlog_on_one_lane_does_not_hold_up_a_tenant_on_another(store: Store) -> None:
    """A tenant cannot fill the workers that serve several lanes."""
    big = [{"lane": "busy", "tenant": "big"} for _ in range(30)]
    small = [{"lane": "quiet", "tenant": "small"} for _ in range(5)]
    ids = await create_together(store, *big, *small)
    taken = await take(store, store.tag_of(ids[0]), 12, lanes=["busy", "quiet"])
    assert set(ids[30:]) <= set(taken)


async def test_a_weight_on_one_lane_does_not_starve_another_lane(store: Store) -> None:
    """A weight shares a lane between its tenants; it takes nothing from other lanes."""
    await store.lanes.set_weights("busy", {"heavy": 3})
    old = [{"lane": "quiet", "tenant": "light"} for _ in range(5)]
    young = [{"lane": "busy", "tenant": "heavy"} for _ in range(30)]
    ids = await create_together(store, *old, *young)
    taken = await take(store, store.tag_of(ids[0]), 24, lanes=["busy", "quiet"])
    assert set(ids[:5]) <= set(taken)


async def test_an_idle_lane_forgets_who_was_served(store: Store) -> None:
    """Nobody pays later for work that nobody else wanted."""
    tag = await fill(store, {"a": 10})
    await take(store, tag, 10)
    root = same_partition_root(store, tag)
    for n in range(12):
        await create_one(store, id=f"{root}~{n}", tenant="a" if n % 2 else "b")
    assert Counter(await tenants_of(store, await take(store, tag, 6))) == {"a": 3, "b": 3}


async def test_two_lanes_take_turns_across_calls(store: Store) -> None:
    """A worker that claims one execution at a time serves both."""
    root = new_id()
    items = [{"id": f"{root}~{lane}{n}", "lane": lane} for lane in ("a", "b") for n in range(3)]
    await create_together(store, *items)
    ids = await take(store, store.tag_of(root), 4, lanes=["a", "b"])
    assert sorted(one[-2:] for one in ids) == ["a0", "a1", "b0", "b1"]

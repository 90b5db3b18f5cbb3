"""hf_execution_claim_many: a worker that names its kinds gets no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.model.ids import new_id
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one, create_together

#: More routes of one lane than a claim looks at.
VERY_MANY = 300


async def taken(store: Store, tag: str, kinds: Sequence[str] | None, **options: Any) -> list[str]:
    """Claim with a worker of these kinds; returns the ids in order."""
    claims = await claim_in(store, tag, kinds=kinds, **{"limit": 100, **options})
    return [claim.id for claim in claims]


async def test_only_named_kinds_are_claimed(store: Store, dump: Dump) -> None:
    """What others have is not touched at all."""
    ids = await create_together(store, *[{"kind": kind} for kind in ("a", "b", "a", "c")])
    tag = store.tag_of(ids[0])
    before = dump()
    assert await taken(store, tag, ("d", "ab")) == []
    assert await taken(store, tag, ()) == []
    assert dump() == before
    assert await taken(store, tag, ("a", "d")) == [ids[0], ids[2]]
    assert await taken(store, tag, None) == [ids[1], ids[3]]


@pytest.mark.parametrize("named", [("a", "a.b", "a/b"), ("a",), ("a/b", "a")])
async def test_names_are_compared_as_a_whole(store: Store, named: tuple[str, ...]) -> None:
    """Neither a part of a name nor a name with more behind it is the same."""
    kinds = ("a", "a.b", "b", "a/b", "aa")
    ids = await create_together(store, *[{"kind": kind} for kind in kinds])
    expected = [one for one, kind in zip(ids, kinds, strict=True) if kind in named]
    assert await taken(store, store.tag_of(ids[0]), named) == expected


@pytest.mark.parametrize("at_once", [1, 3, 40])
async def test_kinds_of_one_tenant_are_served_oldest_first(store: Store, at_once: int) -> None:
    """Kinds do not split a tenant's queue for a worker that has them all."""
    items = [{"kind": f"k{n * 7 % 5}", "priority": n % 3 - 1} for n in range(40)]
    ids = await create_together(store, *items)
    order = sorted(range(40), key=lambda n: -(n % 3))
    tag, served = store.tag_of(ids[0]), list[str]()
    while some := await taken(store, tag, [f"k{n}" for n in range(5)], limit=at_once):
        served += some
    assert served == [ids[n] for n in order]


async def test_tenants_share_a_lane_whatever_their_kinds(store: Store) -> None:
    """A tenant gains nothing by many kinds, and its order stays exact."""
    wide = [{"tenant": "wide", "kind": f"k{n % 8}"} for n in range(40)]
    narrow = [{"tenant": "narrow", "kind": "k0"} for _ in range(40)]
    ids = await create_together(store, *wide, *narrow)
    served = await taken(store, store.tag_of(ids[0]), None, limit=20)
    assert [one for one in served if one in ids[:40]] == ids[:10]
    assert [one for one in served if one in ids[40:]] == ids[40:50]


async def test_work_that_waits_for_a_kind_nobody_has_costs_its_tenant_no_order(
    store: Store,
) -> None:
    """Its turn on that route is as old as the others, once somebody takes it."""
    waiting, *rest = await create_together(
        store, {"kind": "late", "tenant": "a"}, *[{"kind": "k", "tenant": "b"} for _ in range(20)]
    )
    tag = store.tag_of(waiting)
    assert await taken(store, tag, ("k",), limit=10) == rest[:10]
    root = waiting.split("~")[0]
    more = [await create_one(store, id=f"{root}~m{n}", kind="k", tenant="a") for n in range(5)]
    served = await taken(store, tag, ("k", "late"), limit=6)
    assert [one for one in served if one in {waiting, *more}] == [waiting, *more[:3]]


async def test_more_tenants_than_are_read_at_once_take_turns(store: Store) -> None:
    """Each is served once before one is served twice, also on several routes."""
    items = [{"tenant": f"t{n % 90:02}", "kind": f"k{n % 7}"} for n in range(270)]
    ids = await create_together(store, *items)
    tag = store.tag_of(ids[0])
    tenant_of = {str(one): item["tenant"] for one, item in zip(ids, items, strict=True)}
    for _ in range(3):
        served = await taken(store, tag, None, limit=90)
        assert set(Counter(tenant_of[one] for one in served).values()) == {1}
    assert await taken(store, tag, None) == []


@pytest.mark.parametrize("named", [True, False])
async def test_very_many_kinds_are_all_served(store: Store, clock: Clock, *, named: bool) -> None:
    """A claim looks at some of them, the next at others."""
    kinds = [f"k{n}" for n in range(VERY_MANY)]
    ids = await create_together(store, *[{"kind": kind} for kind in kinds])
    tag, served = store.tag_of(ids[0]), list[str]()
    while some := await taken(store, tag, kinds if named else None):
        served += some
        await clock.advance(97)
    assert sorted(served) == sorted(ids)


async def test_strangers_do_not_hide_a_named_kind(store: Store) -> None:
    """However many kinds wait that no worker has."""
    strangers = [{"kind": f"x{n}"} for n in range(VERY_MANY)]
    *_, ours = await create_together(store, *strangers, {"kind": "ours", "requires": ("gpu",)})
    assert await taken(store, store.tag_of(ours), ("ours",)) == []
    assert await taken(store, store.tag_of(ours), ("ours",), capabilities=["gpu"]) == [ours]


async def test_what_returns_waits_for_its_kind_again(store: Store, clock: Clock) -> None:
    """After a delay, a lost worker and a replay alike."""
    claim = await claim_one(store, await create_one(store, kind="a"), kinds=("a",))
    tag = store.tag_of(claim.id)
    await store.executions.delay(claim.id, claim.lease, 1_000)
    await clock.advance_and_tick(1_000)
    assert await taken(store, tag, ("b",)) == []
    claim = await claim_one(store, claim.id, kinds=("a",), lease_ms=1_000)
    await clock.advance_and_tick(1_000)
    assert await taken(store, tag, ("b",)) == []
    claim = await claim_one(store, claim.id, kinds=("a",), request=new_id())
    await store.executions.complete(claim.id, claim.lease, b"1")
    await store.executions.replay(claim.id, keep_steps=False, from_step="", reason="")
    assert await taken(store, tag, ("b",)) == []
    await claim_one(store, claim.id, kinds=("a",))

"""hf_execution_count."""

from __future__ import annotations

from holdfast.model.listing import Count
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one


async def counts(store: Store, tenant: str | None = None) -> dict[tuple[str, str, str, str], int]:
    found = await store.queries.count(tenant)
    return {(c.tenant, c.lane, c.kind, c.state): c.count for c in found}


async def test_an_empty_store_counts_nothing(store: Store) -> None:
    """No cells at all."""
    assert await store.queries.count(None) == []


async def test_executions_are_counted_by_tenant_lane_kind_and_state(store: Store) -> None:
    """Over all partitions."""
    for n in range(20):
        await create_one(store, tenant="acme", lane="mail", kind=f"k{n % 2}")
    await create_one(store, tenant="acme", delay_ms=1_000)
    await create_one(store, tenant="zoo")
    assert await counts(store) == {
        ("acme", "mail", "k0", "waiting"): 10,
        ("acme", "mail", "k1", "waiting"): 10,
        ("acme", "default", "work", "delayed"): 1,
        ("zoo", "default", "work", "waiting"): 1,
    }


async def test_counts_of_one_tenant(store: Store) -> None:
    """Those of others are left out; an unknown tenant has none."""
    await create_one(store, tenant="acme")
    await create_one(store, tenant="zoo")
    assert await store.queries.count("zoo") == [
        Count(tenant="zoo", lane="default", kind="work", state=State.WAITING, count=1)
    ]
    assert await store.queries.count("nobody") == []


async def test_counts_follow_every_transition(store: Store, clock: Clock) -> None:
    """An execution is counted once, in its present state, until it is forgotten."""
    execution_id = await create_one(store, delay_ms=1_000, retention_ms=1_000)
    path = [c.state for c in await store.queries.count(None)]
    await clock.advance_and_tick(1_000)
    path += [c.state for c in await store.queries.count(None)]
    claim = await claim_one(store, execution_id)
    path += [c.state for c in await store.queries.count(None)]
    await store.executions.complete(execution_id, claim.lease, b"1")
    path += [c.state for c in await store.queries.count(None)]
    await clock.advance_and_tick(1_000)
    path += [c.state for c in await store.queries.count(None)]
    assert path == ["delayed", "waiting", "active", "completed"]


async def test_counting_writes_nothing(store: Store, dump: Dump) -> None:
    """A look changes nothing."""
    await create_one(store)
    before = dump()
    await store.queries.count(None)
    assert dump() == before

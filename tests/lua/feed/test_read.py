"""hf_feed_read: every change of state of a tenant's executions, in order, once."""

from __future__ import annotations

from holdfast.model.executions import Failure
from holdfast.model.feeds import StateChange
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump, claim_one, create_one

RETRY = RetryPolicy(max_attempts=2, backoff=Backoff(kind="fixed", initial_ms=1_000))


async def listen_everywhere(store: Store, tenant: str) -> None:
    for tag in store.tags():
        await store.feeds.listen(tag, tenant)


async def read_all(store: Store, execution_id: str, tenant: str) -> list[StateChange]:
    now, rows = await store.feeds.read(store.tag_of(execution_id), tenant, "-", 1_000)
    assert all(row.position.ms <= now for row in rows)
    return [row for row in rows if row.execution == execution_id]


async def test_a_whole_life_is_told(store: Store, clock: Clock) -> None:
    """Creation, claim, retry, the end of a delay, cancellation, replay."""
    await listen_everywhere(store, "acme")
    one = await create_one(store, tenant="acme", lane="bulk", retry=RETRY)
    claim = await claim_one(store, one, lanes=["bulk"])
    await store.executions.fail(one, claim.lease, Failure(type="E", message="m"))
    await clock.advance_and_tick(1_000)
    await store.executions.cancel(one, "enough")
    await store.executions.replay(one, keep_steps=False, from_step="", reason="")
    told = await read_all(store, one, "acme")
    assert [(row.before, row.state) for row in told] == [
        (None, "waiting"),
        ("waiting", "active"),
        ("active", "delayed"),
        ("delayed", "waiting"),
        ("waiting", "cancelled"),
        ("cancelled", "waiting"),
    ]
    assert {(row.kind, row.lane) for row in told} == {("work", "bulk")}
    assert [row.attempts for row in told] == [0, 1, 1, 1, 1, 1]
    assert told[2].at < told[3].at
    assert sorted(row.position for row in told) == [row.position for row in told]


async def test_a_life_without_incidents_is_told(store: Store) -> None:
    """Most executions have one; their lists are written together."""
    await listen_everywhere(store, "acme")
    claim = await claim_one(store, await create_one(store, tenant="acme"))
    await store.executions.complete(claim.id, claim.lease, b"1")
    told = await read_all(store, claim.id, "acme")
    assert [(row.before, row.state, row.attempts) for row in told] == [
        (None, "waiting", 0),
        ("waiting", "active", 1),
        ("active", "completed", 1),
    ]


async def test_other_tenants_and_silent_feeds_have_no_entries(store: Store, dump: Dump) -> None:
    """A feed tells of its own tenant; nobody listens to the other."""
    await listen_everywhere(store, "acme")
    other = await create_one(store, tenant="other")
    assert await read_all(store, other, "acme") == []
    assert not [key for key in dump() if ":feed:" in key]


async def test_reading_goes_on_after_a_position(store: Store) -> None:
    """Inclusive and exclusive starts."""
    await listen_everywhere(store, "acme")
    one = await create_one(store, tenant="acme")
    await claim_one(store, one)
    tag = store.tag_of(one)
    first, second = await read_all(store, one, "acme")
    _, rest = await store.feeds.read(
        tag, "acme", first.position.start_in(first.position.partition), 9
    )
    assert rest == [second]
    _, both = await store.feeds.read(tag, "acme", f"{first.position.ms}-0", 1)
    assert both == [first]

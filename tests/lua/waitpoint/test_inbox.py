"""hf_waitpoint_inbox."""

from __future__ import annotations

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import Dump, claim_one
from tests.support.waits import prepare_one, run_one, send, suspend, suspend_one


async def _ids(
    store: Store, tenant: str | None = None, after: int = 0, limit: int = 50
) -> list[str]:
    return [item.waitpoint.id for _, item in await store.waitpoints.inbox(tenant, after, limit)]


async def test_what_can_be_answered_oldest_first(store: Store, clock: Clock, dump: Dump) -> None:
    """Prepared and open ones of all executions, with what they are for."""
    claim = await run_one(store, tenant="acme", kind="ship", lane="default")
    first = await prepare_one(store, claim, answerers=("ann",), expires_ms=9_000)
    await clock.advance(1)
    _, (second,) = await suspend_one(store, fields={"tenant": "beta", "kind": "pay"})
    (_, one), (_, two) = await store.waitpoints.inbox(None, 0, 50)
    assert (one.waitpoint, one.tenant, one.kind, one.lane) == (first, "acme", "ship", "default")
    assert (two.waitpoint, two.tenant, two.kind, two.escalated) == (second, "beta", "pay", False)
    assert await _ids(store, "acme") == [first.id]
    assert await _ids(store, "beta") == [second.id]
    assert await _ids(store, "coyote") == []
    assert violations(dump(), clock.now_ms) == []


async def test_closed_ones_are_out(store: Store, clock: Clock, dump: Dump) -> None:
    """By an answer, by time, by an operator, and by the end of their execution."""
    claim, (answered,) = await suspend_one(store)
    await send(store, answered)
    claim = await claim_one(store, claim.id)
    await prepare_one(store, claim, "old", expires_ms=10)
    await prepare_one(store, claim, "revoked")
    await prepare_one(store, claim, "ended")
    await clock.advance_and_tick(10)
    await store.waitpoints.revoke(claim.id, 3)
    assert await _ids(store) == [f"{claim.id}~w4"]
    await store.executions.cancel(claim.id, "")
    assert await _ids(store) == []
    assert not [key for key in dump() if "}:open:" in key]


async def test_an_escalated_one_says_so(store: Store, clock: Clock) -> None:
    """Its timeout has passed and somebody must look."""
    _, (point,) = await suspend_one(store, timeout_ms=10, on_timeout="escalate")
    await clock.advance_and_tick(10)
    ((_, item),) = await store.waitpoints.inbox(None, 0, 50)
    assert (item.waitpoint.id, item.escalated) == (point.id, True)


async def test_a_wait_for_an_operator_is_not_escalated(store: Store) -> None:
    """To wait for an operator is a reason that the task itself can give."""
    await suspend_one(store, reason="operator")
    ((_, item),) = await store.waitpoints.inbox(None, 0, 50)
    assert not item.escalated


async def test_pages_follow_the_stamps(single_store: Store) -> None:
    """Made in the same millisecond, all of them have an order, and none is skipped."""
    claim = await run_one(single_store)
    made = [(await prepare_one(single_store, claim, f"p{n}")).id for n in range(7)]
    seen: list[str] = []
    after = 0
    while rows := await single_store.waitpoints.inbox("default", after, 3):
        seen += [item.waitpoint.id for _, item in rows]
        after = rows[-1][0]
    assert seen == made


async def test_each_name_is_listed_anew_when_it_is_waited_for_again(store: Store) -> None:
    """With its new number."""
    claim, (point,) = await suspend_one(store)
    await send(store, point)
    claim = await claim_one(store, claim.id)
    answer = await suspend(store, claim, "gate")
    assert await _ids(store) == [answer.waitpoints[0].id] == [f"{claim.id}~w2"]

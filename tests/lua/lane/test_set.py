"""hf_lane_set."""

from __future__ import annotations

import pytest

from holdfast.errors import LaneDraining
from holdfast.model.executions import NewExecution, Submitted
from holdfast.store import channels
from holdfast.store.lanes import LaneState
from holdfast.store.store import Store
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import Dump, claim_in, claim_one, create_one


async def accepts(store: Store, lane: str) -> bool:
    """Whether the lane takes new work, in every partition."""
    items = [NewExecution(kind="work", lane=lane) for _ in range(40)]
    answers = await store.executions.create(items)
    accepted = {isinstance(answer, Submitted) for answer in answers}
    assert len(accepted) == 1
    assert all(type(a) in {Submitted, LaneDraining} for a in answers)
    return accepted.pop()


async def gives(store: Store, lane: str) -> bool:
    """Whether waiting work of the lane can be claimed."""
    found = [await claim_in(store, tag, lanes=[lane], limit=9) for tag in store.tags()]
    return any(found)


@pytest.mark.parametrize(
    ("state", "accepted", "given"),
    [("open", True, True), ("paused", True, False), ("draining", False, True)],
)
async def test_what_a_lane_accepts_and_gives(
    store: Store, state: LaneState, *, accepted: bool, given: bool
) -> None:
    """Paused: in but not out. Draining: out but not in. Open: both."""
    await create_one(store, lane="mail")
    await store.lanes.set_state("mail", state)
    assert await gives(store, "mail") == given
    assert await accepts(store, "mail") == accepted


async def test_other_lanes_are_not_touched(store: Store) -> None:
    """A setting belongs to its lane alone."""
    await store.lanes.set_state("mail", "paused")
    await store.lanes.set_state("call", "draining")
    await create_one(store, lane="mail2")
    assert await gives(store, "mail2")
    assert await accepts(store, "cal")


async def test_what_runs_on_a_paused_lane_goes_on(store: Store) -> None:
    """Pausing takes no lease away."""
    claim = await claim_one(store, await create_one(store))
    await store.lanes.set_state("default", "paused")
    await store.leases.renew([(claim.id, claim.lease)], 9_000)
    await store.executions.complete(claim.id, claim.lease, b"1")


async def test_the_same_state_again_changes_nothing(store: Store, dump: Dump) -> None:
    """Each setting may be sent twice, and opening an open lane leaves no trace."""
    before = dump()
    await store.lanes.set_state("mail", "open")
    assert dump() == before
    await store.lanes.set_state("mail", "paused")
    before = dump()
    await store.lanes.set_state("mail", "paused")
    assert dump() == before


async def test_an_opened_lane_leaves_no_setting_behind(store: Store) -> None:
    """Open is the absence of a setting."""
    await store.lanes.set_state("mail", "draining")
    assert await store.lanes.settings() == {"lane|mail": "draining"}
    await store.lanes.set_state("mail", "open")
    assert await store.lanes.settings() == {}


async def test_opening_a_lane_wakes_those_who_wait(store: Store) -> None:
    """Workers that sleep on the lane look again, in every partition."""
    await store.lanes.set_state("mail", "paused")
    heard = [channels.work(tag, "mail") for tag in store.tags()]
    woken: set[str] = set()

    def listen(channel: str, _message: str) -> None:
        woken.add(channel)

    await store.subscriptions.add(heard, listen)
    await store.lanes.set_state("mail", "open")

    async def all_woken() -> bool:
        return woken == set(heard)

    await wait_for(all_woken)
    await store.subscriptions.remove(heard, listen)

"""hf_view_put."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.invariants import violations
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
)
from tests.support.mailbox import Mailbox


async def test_a_view_is_replaced(store: Store, clock: Clock, dump: Dump) -> None:
    """Each change has the next version; the same view again changes nothing."""
    claim = await claim_one(store, await create_one(store))
    assert await store.views.put(claim.id, claim.lease, b'{"a": 1}') == 1
    await clock.advance(1_000)
    assert await store.views.put(claim.id, claim.lease, b"[2]") == 2
    before = dump()
    assert await store.views.put(claim.id, claim.lease, b"[2]") == 2
    assert dump() == before
    found = await store.views.read(claim.id)
    assert (found.version, found.value, found.at) == (2, [2], clock.now)
    assert violations(dump()) == []


async def test_readers_that_wait_are_notified(store: Store, mailbox: Mailbox) -> None:
    """Of each change, and of the end."""
    claim = await claim_one(store, await create_one(store))
    await store.views.read(claim.id, process=mailbox.process)
    await store.views.put(claim.id, claim.lease, b"1")
    assert await mailbox.wait(1) == [f"moved {claim.id}"]
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert await mailbox.wait(2) == [f"moved {claim.id}"] * 2


@pytest.mark.parametrize("way", WAYS_TO_LOSE)
async def test_only_the_holder_sets_it(store: Store, clock: Clock, dump: Dump, way: str) -> None:
    """A former one cannot overwrite what its successor shows."""
    lost = await lose_lease(store, clock, way)
    call = store.views.put(lost.id, lost.lease, b"1")
    await refused(call, lost.error, dump, **lost.context)


async def test_a_view_is_kept_as_long_as_its_execution(
    store: Store, clock: Clock, dump: Dump
) -> None:
    """After the end it can still be read; then nothing is left of it."""
    claim = await claim_one(store, await create_one(store, retention_ms=1_000))
    await store.views.put(claim.id, claim.lease, b"1")
    await store.executions.complete(claim.id, claim.lease, b"1")
    assert (await store.views.read(claim.id)).value == 1
    await clock.advance_and_tick(1_000)
    with pytest.raises(ExecutionNotFound):
        await store.views.read(claim.id)
    assert not [key for key in dump() if claim.id in key]

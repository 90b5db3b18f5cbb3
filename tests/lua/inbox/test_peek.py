"""hf_inbox_peek."""

from __future__ import annotations

import pytest

from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.inboxes import send
from tests.support.lifecycle import (
    WAYS_TO_LOSE,
    Dump,
    claim_one,
    create_one,
    lose_lease,
    refused,
)
from tests.support.mailbox import Mailbox


async def test_the_oldest_signal_with_one_of_the_names(store: Store) -> None:
    """A name may be a prefix; no names mean all. Looking changes nothing."""
    claim = await claim_one(store, await create_one(store))
    for name in ("a", "b.1", "b.2", "c"):
        await send(store, claim.id, name)

    async def first(*names: str) -> str | None:
        found = await store.inboxes.peek(claim.id, claim.lease, names)
        return None if found is None else found[1].name

    assert await first() == "a"
    assert await first("b.*") == "b.1"
    assert await first("c", "b.2") == "b.2"
    assert await first("d") is None
    assert await first() == "a"


async def test_a_process_that_waits_is_notified(store: Store, mailbox: Mailbox) -> None:
    """Of every signal, once it has looked in vain."""
    claim = await claim_one(store, await create_one(store))
    await store.inboxes.peek(claim.id, claim.lease, ["a"], process=mailbox.process)
    await send(store, claim.id, "a")
    assert await mailbox.wait() == [f"signal {claim.id}"]


@pytest.mark.parametrize("way", WAYS_TO_LOSE)
async def test_only_the_holder_looks(store: Store, clock: Clock, dump: Dump, way: str) -> None:
    """A former one is refused."""
    lost = await lose_lease(store, clock, way)
    call = store.inboxes.peek(lost.id, lost.lease, [], process="p")
    await refused(call, lost.error, dump, **lost.context)

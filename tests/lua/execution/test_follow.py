"""hf_execution_follow: history, state, and being told of every change."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.store import channels
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from holdfast.testing.polling import wait_for
from tests.support.lifecycle import Dump, claim_one, complete_one, create_one


async def test_it_returns_state_and_history(store: Store) -> None:
    """Oldest first."""
    one = await create_one(store)
    await claim_one(store, one)
    state, history = await store.feeds.follow(one, "p1")
    assert (state, [event.event for event in history]) == ("active", ["created", "claimed"])


async def test_a_follower_is_told_of_every_change(store: Store, clock: Clock) -> None:
    """Of the claim, the delay, its end and the completion, and nobody else is."""
    one = await create_one(store)
    channel = channels.mailbox(store.tag_of(one), "p1")
    heard: list[str] = []
    await store.subscriptions.add([channel], lambda _, message: heard.append(message))
    await store.feeds.follow(one, "p1")

    async def told(count: int) -> None:
        async def enough() -> bool:
            return len(heard) >= count

        await wait_for(enough)

    claim = await claim_one(store, one)
    await told(1)
    await store.executions.delay(one, claim.lease, 1_000)
    await told(2)
    await clock.advance_and_tick(1_000)
    await told(3)
    claim = await claim_one(store, one)
    await store.executions.complete(one, claim.lease, b"1")
    await told(5)
    await asyncio.sleep(0)
    assert set(heard) == {f"moved {one}"}


async def test_one_that_has_ended_is_not_followed(store: Store, dump: Dump) -> None:
    """It is read, and nothing is written."""
    one = await complete_one(store)
    before = dump()
    state, _ = await store.feeds.follow(one, "p1")
    assert state == "completed"
    assert dump() == before


async def test_nothing_is_left_when_it_is_forgotten(store: Store, clock: Clock, dump: Dump) -> None:
    """Followers go with the record."""
    one = await create_one(store, retention_ms=0)
    await store.feeds.follow(one, "p1")
    await store.executions.cancel(one, "")
    await clock.advance_and_tick(1)
    assert not [key for key in dump() if one in key]


async def test_an_unknown_execution_cannot_be_followed(store: Store) -> None:
    """The refusal names it."""
    with pytest.raises(ExecutionNotFound, match="nothing"):
        await store.feeds.follow("nothing", "p1")

"""hf_thread_put."""

from __future__ import annotations

import pytest

from holdfast.errors import InvalidInput, TooLarge
from holdfast.model import bounds
from holdfast.model.threads import Thread
from holdfast.store.store import Store
from holdfast.testing.clock import Clock
from tests.support.lifecycle import Dump
from tests.support.threads import THREAD, ids, put, read, threads


async def test_a_checkpoint_has_the_values_that_it_names(store: Store) -> None:
    """Values are stored once and shared by the checkpoints that name them."""
    await put(store, "1", versions={"a": "1", "b": "1"}, values={"a": b"x", "b": b"y"})
    await put(store, "2", versions={"a": "1", "b": "2"}, values={"b": b"z"})
    last, first = await read(store)
    assert (first.payload, dict(first.values)) == (b"payload 1", {"a": b"x", "b": b"y"})
    assert (last.payload, dict(last.values)) == (b"payload 2", {"a": b"x", "b": b"z"})


async def test_a_repeated_call_changes_nothing(store: Store, dump: Dump) -> None:
    """The second call writes the same."""
    await put(store, "1", run="r", versions={"a": "1"}, values={"a": b"x"})
    before = dump()
    await put(store, "1", run="r", versions={"a": "1"}, values={"a": b"x"})
    assert dump() == before


async def test_threads_of_tenants_are_apart(store: Store) -> None:
    """Two tenants may use the same name."""
    other = Thread("other", "one")
    await put(store, "1")
    await put(store, "2", thread=other)
    assert (await ids(store), await ids(store, other)) == (["1"], ["2"])
    assert await threads(store, "other") == {"one"}


async def test_a_thread_ends_when_its_time_is_over(store: Store, clock: Clock, dump: Dump) -> None:
    """Each checkpoint begins the time again; one without a time keeps the thread for ever."""
    await put(store, "1", run="r", ttl_ms=1_000, versions={"a": "1"}, values={"a": b"x"})
    await clock.advance_and_tick(999)
    await put(store, "2", run="s", ttl_ms=1_000)
    await clock.advance_and_tick(999)
    assert await ids(store) == ["2", "1"]
    await clock.advance_and_tick(1)
    assert await ids(store) == []
    assert not [key for key in dump() if "thread" in key or "checkpoints" in key]

    await put(store, "3", ttl_ms=1_000)
    await put(store, "4")
    await clock.advance_and_tick(5_000)
    assert await ids(store) == ["4", "3"]


async def test_values_have_a_bound(store: Store) -> None:
    """A refused checkpoint leaves nothing behind."""
    with pytest.raises(TooLarge):
        await put(store, "1", versions={"a": "1"}, values={"a": bytes(bounds.THREAD_BYTES + 1)})
    assert await ids(store) == []


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 1_025])
def test_names_are_checked(name: str) -> None:
    """Names are text on one line."""
    with pytest.raises(InvalidInput):
        Thread(THREAD.tenant, name)

"""hf_stream_read."""

from __future__ import annotations

import pytest

from holdfast.errors import ExecutionNotFound
from holdfast.model.frames import FramePage
from holdfast.store.store import Store
from tests.support.lifecycle import Dump, create_one, refused
from tests.support.streaming import append, read_all, running


async def test_an_execution_without_stream_has_no_frames(store: Store) -> None:
    """Nor more of them."""
    execution_id = await create_one(store)
    assert await store.streams.read(execution_id, 0, 10) == FramePage(frames=(), more=False)


@pytest.mark.parametrize("limit", [1, 31, 32, 33, 100, 1000])
async def test_a_stream_is_read_part_by_part(store: Store, limit: int) -> None:
    """No frame twice, none left out; the last part says that it is the last."""
    claim = await running(store)
    await append(store, claim, *(str(n) for n in range(50)))
    await append(store, claim, *(str(n) for n in range(50, 100)), live=True)
    found, after = [], 0
    while True:
        page = await store.streams.read(claim.id, after, limit)
        assert len(page.frames) <= limit
        found += [frame.text for frame in page.frames]
        if not page.more:
            break
        after = page.frames[-1].id
    assert found == [str(n) for n in range(100)]


async def test_reading_goes_on_after_any_number(store: Store) -> None:
    """Also one that was dropped, or that is yet to come."""
    await store.streams.configure({"stream|*|frames": 3})
    claim = await running(store)
    await append(store, claim, *"abcdef")
    expected = {0: "def", 2: "def", 4: "ef", 6: "", 99: ""}
    for after, words in expected.items():
        page = await store.streams.read(claim.id, after, 10)
        assert ("".join(frame.text for frame in page.frames), page.more) == (words, False)


async def test_a_part_is_bounded_in_bytes(store: Store) -> None:
    """About a MiB, however many frames are asked for."""
    claim = await running(store)
    for _ in range(20):
        await append(store, claim, "x" * 65_536)
    page = await store.streams.read(claim.id, 0, 1000)
    assert (len(page.frames), page.more) == (16, True)
    assert len(await read_all(store, claim.id)) == 20


async def test_an_unknown_execution_is_not_found(store: Store, dump: Dump) -> None:
    """It has no stream, not an empty one."""
    await refused(store.streams.read("nobody", 0, 1), ExecutionNotFound, dump, id="nobody")

"""The idioms of asyncio that several parts share."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.concurrency import first_of, stop, wait_or_timeout


async def test_first_of_ends_with_the_first_and_cancels_its_own() -> None:
    """A future of the caller keeps running."""
    event, ended = asyncio.Event(), asyncio.Event()
    kept = asyncio.ensure_future(asyncio.sleep(60))

    async def waiting() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    asyncio.get_running_loop().call_soon(event.set)
    await first_of(kept, waiting(), event.wait())
    assert await wait_or_timeout(ended, 5)
    assert not kept.done()
    await first_of(kept, timeout_s=0)
    assert not kept.done()
    await stop(kept)
    assert kept.cancelled()


async def test_first_of_that_is_cancelled_cancels_its_own() -> None:
    """Nothing is left behind."""
    ended = asyncio.Event()

    async def waiting() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    racing = asyncio.ensure_future(first_of(waiting()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await stop(racing)
    assert await wait_or_timeout(ended, 5)


async def test_an_event_is_waited_for_until_the_time_is_over() -> None:
    """Also a time that is over already; an event that is set counts."""
    event = asyncio.Event()
    assert not await wait_or_timeout(event, 0.01)
    assert not await wait_or_timeout(event, -1)
    event.set()
    assert await wait_or_timeout(event, -1)
    assert await wait_or_timeout(event, None)


async def test_stop_passes_a_cancellation_of_its_caller_on() -> None:
    """It hides the ends of the futures, not its own."""
    stubborn = asyncio.Event()

    async def ends_late() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await stubborn.wait()

    async def fails() -> None:
        raise ValueError

    late, failing = asyncio.ensure_future(ends_late()), asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    stopping = asyncio.ensure_future(stop(late, failing))
    await asyncio.sleep(0)
    stopping.cancel()
    stubborn.set()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert late.done()

"""Idioms of asyncio, each written once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable
from typing import Any


async def first_of(
    *waits: Coroutine[Any, Any, Any] | asyncio.Future[Any], timeout_s: float | None = None
) -> None:
    """Wait until one of these is done, or the time is over.

    Coroutines that are not done then are cancelled, not awaited. Futures belong to the caller and
    keep running; it asks them which one is done.
    """
    futures = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait, future in zip(waits, futures, strict=True):
            if future is not wait:
                future.cancel()


async def all_of(works: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Do all work concurrently. A single coroutine, which is the usual case, needs no task."""
    first, *others = [*works] or [asyncio.sleep(0)]
    if others:
        await asyncio.gather(first, *others)
    else:
        await first


async def wait_or_timeout(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait until an event is set, at most this long; returns whether it is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()


async def stop(*futures: asyncio.Future[Any]) -> None:
    """Cancel and wait until all have ended; how they ended does not matter."""
    for future in futures:
        future.cancel()
    await asyncio.gather(*futures, return_exceptions=True)

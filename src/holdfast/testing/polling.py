"""Wait for a condition instead of sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def wait_for(probe: Callable[[], Awaitable[T]], *, timeout_s: float = 30) -> T:
    """Call `probe` until it returns a true value; raise TimeoutError when the time is over."""
    async with asyncio.timeout(timeout_s):
        while True:
            value = await probe()
            if value:
                return value
            await asyncio.sleep(0.005)

"""Patience: a worker that starts waits for the store just as a running one does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from holdfast.concurrency import wait_or_timeout
from holdfast.errors import HoldfastError, StoreFull
from holdfast.outages import will_pass

log: logging.Logger = logging.getLogger(__name__)

_PAUSE_S = 1.0


async def insist(
    work: Callable[[], Awaitable[None]], draining: asyncio.Event, *, when_full: bool = True
) -> None:
    """Repeat a call until it succeeds or the worker drains.

    Raises errors that waiting does not change, and StoreFull unless it may wait for memory, too.
    """
    waits = False
    while not draining.is_set():
        try:
            await work()
        except HoldfastError as error:
            if not will_pass(error) or (isinstance(error, StoreFull) and not when_full):
                raise
            if not waits and not isinstance(error, StoreFull):
                log.warning("the worker cannot start yet, trying again: %s", error)
                waits = True
            await pause(draining, _PAUSE_S)
        else:
            return


async def pause(draining: asyncio.Event, seconds: float) -> None:
    """Wait, at most until the worker drains."""
    await wait_or_timeout(draining, seconds)

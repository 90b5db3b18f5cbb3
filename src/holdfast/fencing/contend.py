"""Waits for a lease that another process holds."""

from __future__ import annotations

import logging

from holdfast.api import WriterLeases
from holdfast.errors import BackendFailed, Held, LostRace
from holdfast.model.writer_leases import Ask, Grant

log: logging.Logger = logging.getLogger(__name__)

_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 50.0, 1_000.0


async def contend(leases: WriterLeases, key: str, ask: Ask, wait_ms: float) -> Grant:
    """Acquire a lease, trying again for this long; raises the error of the last try."""
    deadline = leases.times.monotonic_ms() + wait_ms
    pause_ms = _FIRST_PAUSE_MS
    while True:
        try:
            return await leases.acquire(key, ask)
        except (Held, LostRace, BackendFailed) as error:
            left = deadline - leases.times.monotonic_ms()
            if left <= 0:
                raise
            if isinstance(error, BackendFailed):
                log.warning("acquiring writer lease %s failed, trying again: %s", key, error)
                pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
            else:
                # Try often: the holder may release it long before it would expire.
                free_in = float(error.context.get("wait_ms") or 0)
                pause_ms = min(_LONGEST_PAUSE_MS, max(_FIRST_PAUSE_MS, free_in))
        await leases.times.sleep(min(pause_ms, left))

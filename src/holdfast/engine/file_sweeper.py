"""The sweeper of files: removes those whose session is gone."""

from __future__ import annotations

import asyncio
import logging
import random
import time

from holdfast.engine.files import Files
from holdfast.errors import HoldfastError
from holdfast.outages import level

log: logging.Logger = logging.getLogger(__name__)

EVERY_S = 6 * 3600.0


class FileSweeper:
    """Sweeps a few times a day. Several processes may do it at once."""

    name = "file sweeper"

    def __init__(self, files: Files, *, every_s: float = EVERY_S) -> None:
        self._files = files
        self._every_s = every_s

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            # Not all processes at once, and not at every start.
            await asyncio.sleep(self._every_s * random.uniform(0.5, 1.0))  # noqa: S311
            try:
                removed = await self._files.sweep(time.time_ns() // 1_000_000)
            except HoldfastError as error:
                log.log(level(error), "files of sessions that are gone stay for now: %s", error)
            else:
                if removed:
                    log.info("removed the files of %d sessions that are gone", removed)

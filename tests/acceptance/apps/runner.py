"""Runs a worker of the shop: `python -m tests.acceptance.apps.runner FOLDER LEASE_MS`."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

from holdfast import WorkerSettings
from holdfast.worker.worker import Worker, stop_on_signals
from tests.acceptance.apps.shop import make_app


async def run(folder: Path, lease_ms: int) -> None:
    """Work until a signal says stop; says `ready` when it listens for work."""
    async with make_app(folder) as app:
        worker = Worker(app, WorkerSettings(lease_ms=lease_ms, slots=4))
        with stop_on_signals(worker):
            running = asyncio.ensure_future(worker.run())
            await worker.wait_started(running)
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            await running


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(run(Path(sys.argv[1]), int(sys.argv[2])))

"""What a real process runs: `child.py KIND STORE USER NOTES PORT`, until SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from holdfast import api
from holdfast.engine import Engine, open_engine
from holdfast.errors import HoldfastError
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from tests.chaos.seeded.history import Ledger
from tests.chaos.seeded.processes import SETTINGS, Job, Kind, host_job, worker_job


def server_job(port: int, stop: asyncio.Event) -> Job:
    """Return the job of a server of the HTTP API."""

    async def job(engine: api.Engine, user: str) -> None:
        del user
        assert isinstance(engine, Engine)
        async with serving(engine, ServerSettings(port=port)):
            await stop.wait()

    return job


async def main(kind: str, url: str, user: str, notes: str, port: str) -> None:
    """Do the job, again if the store is away at the start."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    job = worker_job(Ledger(Path(notes)), stop)
    if kind == Kind.SERVER:
        job = server_job(int(port), stop)
    elif kind == Kind.HOST:
        job = host_job(stop)
    while not stop.is_set():
        try:
            async with open_engine(url, SETTINGS) as engine:
                await job(engine, user)
        except HoldfastError as error:
            print(error, file=sys.stderr, flush=True)
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

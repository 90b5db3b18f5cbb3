"""A worker process that serves a pack and asks a test for its fakes: `pack_worker PACK SOCKET`.

The store is HOLDFAST_STORE. The process ends with the one that started it, whose pipe it has as
stdin.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

from holdfast.host.flows.watching import Watcher
from holdfast.host.loading import declare_pack
from holdfast.host.packs import Trust, bundle, load
from holdfast.host.simulator import fakes
from holdfast.host.simulator.channel import asking
from holdfast.store.store import StoreSettings
from holdfast.worker.app import App
from holdfast.worker.worker import Worker, WorkerSettings, stop_on_signals

LEASE_MS = 5_000
READY = "ready"


def prepared(
    pack: Path, socket: Path, *, settable_clock: bool = False, watcher: Watcher | None = None
) -> App:
    """Return an app with a pack whose calls ask for fakes at a socket."""
    app = App(settings=StoreSettings(fake_clock=True) if settable_clock else None)
    packs = bundle(load(pack, Trust(unsigned=True), quiet=True))
    loaded = declare_pack(app, packs, fakes.runners(asking(socket)), spends=False)
    if watcher is not None:
        loaded.flows.watcher = watcher
    return app


async def serve(app: App) -> None:
    """Run a worker until a signal comes or stdin ends; says `ready` on stdout."""
    async with app:
        worker = Worker(app, WorkerSettings(lease_ms=LEASE_MS))
        running = asyncio.ensure_future(worker.run())
        await worker.wait_started(running)
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), worker.release)
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        with stop_on_signals(worker):
            await running


def main(pack: str, socket: str) -> None:
    """Run the process."""
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    asyncio.run(serve(prepared(Path(pack), Path(socket))))


if __name__ == "__main__":
    main(*sys.argv[1:])

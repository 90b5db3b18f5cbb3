"""Packs on a real host: a worker process, on a store whose time the test sets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import final

from typing_extensions import override

from holdfast.engine import Engine
from holdfast.host.packs import Pack, Trust, bundle, load
from holdfast.host.simulator import reader
from holdfast.host.simulator.channel import answering
from holdfast.host.simulator.script import Status, Test
from holdfast.host.simulator.world import Subject, World
from holdfast.model.moments import to_ms
from holdfast.testing.pack_worker import LEASE_MS, READY
from holdfast.testing.servers import TestServer
from holdfast.testing.simulator import Simulator
from holdfast.testing.stores import TestStore, open_test_store

ROOT = Path(__file__).parents[2]
PACKS = ROOT / "examples" / "packs"
_LOOK_S = 0.02
_PATIENCE_S = 60


def read_pack(name: str) -> tuple[Pack, list[Test]]:
    """Return an example and its tests."""
    pack = load(PACKS / name, Trust(unsigned=True))
    return pack, reader.read(pack.files, reader.Names.of(pack.definition))


@final
class HostWorld(World):
    """A worker in another process, on a store whose time the test sets."""

    def __init__(self, store: TestStore, folder: Path) -> None:
        self._store = store
        self._engine = Engine(store)
        self._folder = folder
        self._deaths = 0

    @property
    @override
    def engine(self) -> Engine:
        return self._engine

    @property
    @override
    def sets_time(self) -> bool:
        return True

    @property
    def deaths(self) -> list[str]:
        """The nodes at which a worker died."""
        return self._lines("deaths")

    @property
    def visited(self) -> list[str]:
        """The nodes that ran, in order."""
        return self._lines("visited")

    def _lines(self, name: str) -> list[str]:
        file = self._folder / name
        return file.read_text().splitlines() if file.exists() else []

    def kill_at(self, node: str) -> None:
        """Kill the worker when it next comes to a node: FLOW.NODE."""
        (self._folder / "die").write_text(node)

    @override
    async def settle(self, subject: Subject) -> Status:
        async with asyncio.timeout(_PATIENCE_S):
            while (status := await subject.status(self._engine)) is None:
                if len(self.deaths) > self._deaths:
                    # The lease of the dead worker expires.
                    self._deaths = len(self.deaths)
                    await self.advance(LEASE_MS + 1)
                await self._skip_pause(await subject.execution(self._engine))
                await asyncio.sleep(_LOOK_S)
        return status

    async def _skip_pause(self, execution: str) -> None:
        run_at = (await self._engine.describe(execution)).run_at
        if run_at is not None and run_at > self._store.clock.now:
            await self.advance(to_ms(run_at) - self._store.clock.now_ms)

    @override
    async def advance(self, ms: int) -> None:
        await self._store.clock.advance_and_tick(ms)
        await self._engine.courier.carry_all()


@contextlib.asynccontextmanager
async def open_host(
    name: str, folder: Path, server: TestServer
) -> AsyncIterator[tuple[Simulator, HostWorld, list[Test]]]:
    """Serve an example in worker processes: one that dies is followed by another."""
    pack, tests = read_pack(name)
    simulator = Simulator(bundle(pack))
    socket = folder / "fakes"
    async with open_test_store(server) as store, answering(socket, simulator.ask):
        url = f"valkey://127.0.0.1:{server.port}?prefix={store.url.prefix}"
        async with _workers(PACKS / name, folder, url):
            yield simulator, HostWorld(store, folder), tests


@contextlib.asynccontextmanager
async def _workers(pack: Path, folder: Path, store: str) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.acceptance.apps.pack_worker", str(pack), str(folder)),
        cwd=ROOT,
        env={**os.environ, "HOLDFAST_STORE": store},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()).decode().strip() == READY
        yield
    finally:
        # The worker ends with its stdin, and the process with the worker.
        process.stdin.close()
        await process.wait()

"""Tests of packs: in this process with a clock that is set, or against a worker process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import final

from typing_extensions import override

from holdfast.api import Engine
from holdfast.errors import AmbiguousFlow, FlowNotFound, InvalidPack
from holdfast.host.flows.runners import Runners
from holdfast.host.loading import LoadedPack, declare_pack
from holdfast.host.packs import Bundle
from holdfast.host.simulator import fakes
from holdfast.host.simulator.channel import answering
from holdfast.host.simulator.coverage import Collector, Coverage
from holdfast.host.simulator.fakes import Answer, Call, Fakes
from holdfast.host.simulator.player import Mismatch, Player
from holdfast.host.simulator.results import Outcome, Verdict
from holdfast.host.simulator.script import Status, Test
from holdfast.host.simulator.world import LiveWorld, Subject, World
from holdfast.model.moments import to_ms
from holdfast.testing.app import NotIdle, TestApp
from holdfast.testing.pack_worker import READY
from holdfast.testing.servers import TestServer
from holdfast.worker.app import App

_NO_CLOCK = "it needs `advance`, and the time of a real host cannot be set"


@final
class SimulatedWorld(World):
    """A worker in this process; nothing moves by itself."""

    def __init__(self, test: TestApp) -> None:
        self._test = test

    @property
    @override
    def engine(self) -> Engine:
        return self._test.engine

    @property
    @override
    def sets_time(self) -> bool:
        return True

    @override
    async def settle(self, subject: Subject) -> Status:
        while True:
            await self._run()
            status = await subject.status(self.engine)
            if status is not None:
                return status
            # It pauses between attempts at a node. A test should not have to say so.
            await self._skip(await subject.execution(self.engine))

    async def _run(self) -> None:
        try:
            await self._test.run_until_idle(advance=False)
        except NotIdle as error:
            raise Mismatch(str(error)) from error

    async def _skip(self, execution: str) -> None:
        clock = self._test.clock
        described = await self.engine.describe(execution)
        moments = [await clock.due_of(execution), described.run_at, described.lease_expires_at]
        due = min((at for at in moments if at is not None and at > clock.now), default=None)
        if due is None:
            message = f"the flow neither waits nor ends: {described.state}"
            raise Mismatch(message)
        await clock.advance(to_ms(due) - clock.now_ms)

    @override
    async def advance(self, ms: int) -> None:
        await self._test.clock.advance(ms)
        await self._run()


class Simulator:
    """Plays tests of a pack, one at a time. They run in a world: see `simulated` and `hosted`."""

    def __init__(self, bundle: Bundle, real: Runners | None = None) -> None:
        self.app = App()
        self._collector = Collector()
        self._fakes = Fakes()
        self.pack: LoadedPack = declare_pack(
            self.app, bundle, fakes.runners(self.ask, real), spends=real is not None
        )
        self.pack.flows.watcher = self._collector

    async def ask(self, call: Call) -> Answer | None:
        """Answer a call of the test that is played."""
        return await self._fakes.ask(call)

    async def play(self, world: World, test: Test) -> Outcome:
        """Play a test, and return what came of it."""
        if test.moves_time and not world.sets_time:
            return Outcome(test, Verdict.SKIPPED, message=_NO_CLOCK)
        self._fakes = Fakes(test.fakes)
        started = time.monotonic()
        try:
            flow = self.pack.resolve(flow=test.flow)
            await Player(world, flow, test, self._fakes).play()
        except Mismatch as mismatch:
            return Outcome.failed(test, mismatch, time.monotonic() - started)
        except (FlowNotFound, AmbiguousFlow) as error:
            return Outcome.failed(test, Mismatch(str(error)), time.monotonic() - started)
        return Outcome(test, Verdict.PASSED, time.monotonic() - started)

    async def play_all(self, world: World, tests: Sequence[Test]) -> AsyncIterator[Outcome]:
        """Play tests one after the other."""
        for test in tests:
            yield await self.play(world, test)

    @property
    def coverage(self) -> Coverage:
        """What the tests that ran in this process have covered."""
        return self._collector.coverage(self.pack.flows.flows)


@contextlib.asynccontextmanager
async def simulated(
    simulator: Simulator, server: TestServer | None = None
) -> AsyncIterator[SimulatedWorld]:
    """Run the flows in this process, on an empty store with a clock that is set."""
    app = simulator.app
    async with TestApp(app, server=server) as test:
        await test.engine.tasks.publish({name: one.describe() for name, one in app.tasks.items()})
        yield SimulatedWorld(test)


@contextlib.asynccontextmanager
async def hosted(
    simulator: Simulator, pack: Path, engine: Engine, store: str
) -> AsyncIterator[LiveWorld]:
    """Run the flows in a worker process on a store, which has fakes from this process."""
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        socket = Path(folder) / "fakes"
        async with answering(socket, simulator.ask), _worker(pack, socket, store):
            yield LiveWorld(engine)


@contextlib.asynccontextmanager
async def _worker(pack: Path, socket: Path, store: str) -> AsyncIterator[None]:
    """Run a worker process that serves a pack while the block runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.testing.pack_worker", str(pack), str(socket)),
        env={**os.environ, "HOLDFAST_STORE": store},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        if process.stdout is None or (await process.stdout.readline()).decode().strip() != READY:
            message = f"the worker of {pack} did not start"
            raise InvalidPack(message, problem="not_started")
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

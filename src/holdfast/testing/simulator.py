"""Tests of packs in one process: the real engine on an embedded store, with a clock that is set."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from typing import final

from typing_extensions import override

from holdfast.api import Engine
from holdfast.host.flows.runners import Runners
from holdfast.host.loading import LoadedPack, declare_pack
from holdfast.host.packs import Bundle
from holdfast.host.simulator import fakes
from holdfast.host.simulator.coverage import Collector, Coverage
from holdfast.host.simulator.fakes import Answer, Call, Fakes
from holdfast.host.simulator.player import Mismatch, Player
from holdfast.host.simulator.results import Outcome, Verdict
from holdfast.host.simulator.script import Status, Test
from holdfast.host.simulator.world import Subject, World
from holdfast.model.moments import to_ms
from holdfast.testing.app import TestApp
from holdfast.testing.servers import TestServer
from holdfast.worker.app import App


@final
class SimulatedWorld(World):
    """A worker in this process; nothing moves by itself."""

    def __init__(self, test: TestApp) -> None:
        self._test = test

    @property
    @override
    def engine(self) -> Engine:
        return self._test.engine

    @override
    async def settle(self, subject: Subject) -> Status:
        while True:
            await self._test.run_until_idle(advance=False)
            status = await subject.status(self.engine)
            if status is not None:
                return status
            # It pauses between attempts at a node. Nobody wants to write that into a test.
            await self._skip(await subject.execution(self.engine))

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
        await self._test.run_until_idle(advance=False)


class Simulator:
    """Plays tests of a pack. Make it with `simulate`."""

    def __init__(self, world: World, pack: LoadedPack, collector: Collector) -> None:
        self._world = world
        self.pack = pack
        self._collector = collector
        self._fakes = Fakes()

    async def ask(self, call: Call) -> Answer | None:
        """Answer a call of the test that is played."""
        return await self._fakes.ask(call)

    async def play(self, test: Test) -> Outcome:
        """Play a test, and return what came of it."""
        self._fakes = Fakes(test.fakes)
        started = time.monotonic()
        try:
            flow = self.pack.resolve(flow=test.flow)
            await Player(self._world, flow, test, self._fakes).play()
        except Mismatch as mismatch:
            return Outcome.failed(test, mismatch, time.monotonic() - started)
        return Outcome(test, Verdict.PASSED, time.monotonic() - started)

    async def play_all(self, tests: Sequence[Test]) -> AsyncIterator[Outcome]:
        """Play tests one after the other."""
        for test in tests:
            yield await self.play(test)

    @property
    def coverage(self) -> Coverage:
        """What the tests so far have covered."""
        return self._collector.coverage(self.pack.flows.flows)


@contextlib.asynccontextmanager
async def simulate(
    bundle: Bundle, *, real: Runners | None = None, server: TestServer | None = None
) -> AsyncIterator[Simulator]:
    """Load packs on an empty store. Calls without a fake go to the `real` runners, if given."""
    app = App()
    asked: list[Simulator] = []

    async def ask(call: Call) -> Answer | None:
        return await asked[0].ask(call)

    pack = declare_pack(app, bundle, fakes.runners(ask, real))
    collector = Collector()
    pack.flows.watcher = collector
    async with TestApp(app, server=server) as test:
        await test.engine.tasks.publish({name: one.describe() for name, one in app.tasks.items()})
        simulator = Simulator(SimulatedWorld(test), pack, collector)
        asked.append(simulator)
        yield simulator

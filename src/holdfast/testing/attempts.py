"""The attempts of an app under test: start them, keep them alive, lose them, kill them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.executions import Claim
from holdfast.testing.watching import Watch, WatchedEngine, Write
from holdfast.worker.app import App
from holdfast.worker.parking import DEFAULT_KEPT
from holdfast.worker.pools import ProcessPool, ThreadPool
from holdfast.worker.resources import Resource, Resources
from holdfast.worker.runner import Runner
from holdfast.worker.slots import Slots

_THREADS = 32


class Attempts:
    """The running attempts, on the runner of real workers. Create it with `open_attempts`."""

    def __init__(
        self, app: App, engine: WatchedEngine, watch: Watch, runner: Runner, slots: Slots
    ) -> None:
        self._app = app
        self._engine = engine
        self._watch = watch
        self._runner = runner
        self.slots = slots
        #: The held claims by execution, without those of killed attempts.
        self.claims: dict[str, Claim] = {}
        self.kill_when: Callable[[Write], bool] = lambda _: False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._broken: list[BaseException] = []

    def start(self, claim: Claim) -> None:
        """Run a claimed execution."""
        self.slots.take(1)
        self.claims[claim.id] = claim
        self._tasks[claim.id] = asyncio.ensure_future(self._run(claim))
        self._watch.changed.set()

    async def _run(self, claim: Claim) -> None:
        try:
            await self._runner.run(claim)
        except asyncio.CancelledError:
            pass
        except BaseException as error:  # noqa: BLE001 - raised by `raise_broken`
            if (claim.id, claim.lease.fence) not in self._watch.dead:
                self._broken.append(error)
        finally:
            if self.claims.get(claim.id) is claim:
                self._forget(claim)
            self.slots.give_back()

    def _forget(self, claim: Claim) -> None:
        del self.claims[claim.id], self._tasks[claim.id]

    async def go_on(self) -> bool:
        """Whether an attempt runs that is not just waiting for other executions."""
        return self.slots.busy > 0 or bool(self.claims and await self._engine.has_news())

    async def renew(self, lease_ms: int) -> None:
        """Extend all leases; notify attempts that have lost theirs, as heartbeats would."""
        held = list(self.claims.values())
        span = min(lease_ms, bounds.LEASE_MAX_MS)
        answers = await self._engine.renew([(claim.id, claim.lease) for claim in held], span)
        for claim, answer in zip(held, answers, strict=True):
            if isinstance(answer, HoldfastError):
                self._tell_lost(claim)

    def _tell_lost(self, claim: Claim) -> None:
        context, attempt = self._runner.running.get(claim.key), self._tasks.get(claim.id)
        if context is None or attempt is None or context.lost:
            return
        context.lose()
        if self._app.tasks[claim.kind].is_async:
            attempt.cancel()

    def dies(self, write: Write) -> bool:
        """Kill the attempt of a write if it matches the requested one."""
        claim = self.claims.get(write.execution_id)
        if claim is None or not self.kill_when(write):
            return False
        self.kill_when = lambda _: False
        self._watch.dead.add((claim.id, claim.lease.fence))
        self._runner.running[claim.key].lose()
        self._forget(claim)
        return True

    def raise_broken(self) -> None:
        """Raise an unexpected error of an attempt."""
        if self._broken:
            broken, self._broken = self._broken, []
            raise broken[0]

    async def stop(self) -> None:
        """End all attempts; they write nothing more."""
        tasks = list(self._tasks.values())
        for context in self._runner.running.values():
            context.lose()
        self._engine.stop_waiting()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def open_attempts(
    app: App,
    engine: WatchedEngine,
    watch: Watch,
    *,
    slots: int,
    lease_ms: int,
    resources: Mapping[Callable[[], Any], Any],
    kept: int = DEFAULT_KEPT,
) -> AsyncIterator[Attempts]:
    """Open what attempts need: threads, slots, resources."""
    threads = ThreadPool(_THREADS)
    watched = _WatchedSlots(slots, watch.changed)
    processes = _NoProcesses(threads)
    runner = Runner(
        app,
        slots=watched,
        lease_ms=lease_ms,
        threads=threads,
        processes=processes,
        kept=kept,
        # A test must notice it.
        suspend_misfits=False,
    )
    runner.resources = _OverriddenResources(resources)
    attempts = Attempts(app, engine, watch, runner, watched)
    before, watch.dies = watch.dies, attempts.dies
    try:
        yield attempts
    finally:
        watch.dies = before
        await attempts.stop()
        await runner.close()


class _NoProcesses(ProcessPool):
    """Runs process tasks in threads, so that tests can declare them anywhere."""

    def __init__(self, threads: ThreadPool) -> None:
        super().__init__(1)
        self._threads = threads

    async def run(self, fn: Callable[..., Any], arguments: dict[str, Any]) -> tuple[bool, Any]:
        return await self._threads.run(partial(fn, **arguments))


class _WatchedSlots(Slots):
    """Slots that notify when one is released or lent."""

    def __init__(self, count: int, changed: asyncio.Event) -> None:
        super().__init__(count)
        self._changed = changed

    def give_back(self) -> None:
        super().give_back()
        self._changed.set()

    def settle(self) -> bool:
        """Lend nothing: an attempt is busy until its outcome is recorded."""
        return False


class _OverriddenResources(Resources):
    """Resources, some of which a test provides."""

    def __init__(self, given: Mapping[Callable[[], Any], Any]) -> None:
        super().__init__()
        self._given = given

    async def open(self, resource: Resource) -> Any:
        if resource.factory in self._given:
            return self._given[resource.factory]
        return await super().open(resource)

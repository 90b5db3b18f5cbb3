"""A revision in this process: load it, judge its gates, and work for it until it is unloaded.

    load -> work -> drain -> unloaded
      |       |
      +-------+-> (an error) -> pause -> load

Whatever goes wrong with one revision stays here: a warming revision fails, another one is loaded
again after a pause, and no other revision notices.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from holdfast.concurrency import first_of
from holdfast.engine import Engine
from holdfast.errors import Conflict, HoldfastError, InvalidPack
from holdfast.host import timers
from holdfast.host.components.slots import Slots
from holdfast.host.flows.pacing import Pace
from holdfast.host.gates import LOADS, SIGNATURES, judged
from holdfast.host.loading import LoadedPack, declare_pack
from holdfast.host.moving import Loaded, Moving
from holdfast.host.opening import open_runners
from holdfast.host.packs import Bundle, PublicKey, Trust, bundle, load_archive
from holdfast.host.packs.problems import Problem
from holdfast.host.providers import ProviderNodes, Providers
from holdfast.host.settings import LOAD_S, HostSettings
from holdfast.host.trials import Trials
from holdfast.model import bounds
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Gate, Lifecycle, Revision
from holdfast.model.schedules import NewSchedule
from holdfast.outages import level, will_pass
from holdfast.worker.app import App
from holdfast.worker.patience import pause
from holdfast.worker.worker import Worker, WorkerSettings

log: logging.Logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0

#: What is wrong with the signatures of a pack, not with the pack.
_SIGNING = frozenset(
    {
        Problem.INVALID_SIGNATURES,
        Problem.WRONG_SIGNATURE,
        Problem.UNSIGNED,
        Problem.UNTRUSTED,
        Problem.UNTRUSTED_COMPONENT,
    }
)


class _Unfit(Exception):
    """This host lacks what the pack requires; another one may have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the revisions of a host share."""

    #: Bounds how many are loaded at once.
    loading: asyncio.Semaphore
    #: Finds another revision of the host.
    loaded: Loaded
    pace: Pace
    trials: Trials
    #: The calls of components: a tenant has as many with ten revisions as with one.
    calls: Slots


class Serving:
    """One revision that this process serves."""

    def __init__(
        self,
        engine: Engine,
        ref: DeploymentRef,
        revision: Revision,
        settings: HostSettings,
        shared: Shared,
        *,
        owns: bool,
    ) -> None:
        self.ref = ref
        self.revision = revision
        #: Its packs, while it works for the revision.
        self.pack: LoadedPack | None = None
        #: The providers of its packs, while it is loaded.
        self.providers: Providers | None = None
        #: Done when it was loaded for the first time, or never will be.
        self.decided: asyncio.Event = asyncio.Event()
        self._shared = shared
        self._moving = Moving(engine, ref, shared.loaded)
        self._engine = engine
        self._settings = settings
        self._worker: Worker | None = None
        self._plans: list[NewSchedule] = []
        #: Whether the schedules of the deployment are to be those of this revision, and are.
        self._owns = owns
        self._has_schedules = False
        self._stopping = asyncio.Event()
        self._news = asyncio.Event()
        self.running: asyncio.Future[None] = asyncio.ensure_future(self._run())

    @property
    def is_loaded(self) -> bool:
        """Whether it works for the revision now."""
        return self.pack is not None

    def see(self, revision: Revision, *, owns: bool) -> None:
        """Take notice of the revision's lifecycle, and whether it owns the schedules."""
        self.revision = revision
        self._owns = owns
        self._has_schedules = self._has_schedules and owns
        self._news.set()

    def drain(self) -> None:
        """Finish what runs, and unload; `running` is done then."""
        self._stopping.set()
        if self._worker is None:
            # It loads, or waits before it tries again.
            self.running.cancel()

    def release(self) -> None:
        """Return all leases at once."""
        self.drain()
        if self._worker is not None:
            self._worker.release()

    async def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping.is_set():
            self._news.clear()
            try:
                async with self._opened() as (app, pack):
                    await self._work(app, pack)
                    return
            except _Unfit as unfit:
                log.warning("revision %s is not served here: %s", self.revision.id, unfit)
                self.decided.set()
                await self._stopping.wait()
            except Exception as error:  # noqa: BLE001 - a revision harms no other
                await self._failed(error)
            finally:
                self.pack = None
                self.providers = None
            await first_of(self._news.wait(), pause(self._stopping, pause_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    @contextlib.asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[App, LoadedPack]]:
        """Load the packs of the revision, and close what they need in the end."""
        async with contextlib.AsyncExitStack() as stack:
            async with self._shared.loading, asyncio.timeout(LOAD_S):
                packs = await self._bundle()
                required = {name for pack in packs.packs for name in pack.definition.requires}
                if missing := required - set(self._settings.capabilities):
                    raise _Unfit(f"it requires {', '.join(sorted(missing))}")
                opening = open_runners(
                    packs,
                    self._engine,
                    sandbox=self._settings.sandbox,
                    calls=self._shared.calls,
                    allow_private=self._settings.allow_private,
                    trusted=self._settings.trusted,
                )
                runners = await stack.enter_async_context(opening)
                app = App().attach(self._engine)
                # This host has what the packs require, so the revision alone says who may claim.
                pack = await asyncio.to_thread(declare_pack, app, packs, runners, requires=())
                pack.flows.mover, pack.flows.pace = self._moving, self._shared.pace
            # The worker must not put them: they belong to one revision of all that are loaded.
            self._plans = timers.plans_of(self.ref, self.revision.id, app.schedules.values())
            app.schedules.clear()
            nodes = ProviderNodes(packs, runners.call)
            self.providers = Providers(nodes, env=self.ref.env, tenant=str(self.ref.tenant))
            yield app, pack

    async def _bundle(self) -> Bundle:
        env = await self._engine.envs.get(self.ref.env)
        trust = Trust(
            keys=frozenset(PublicKey.parse(key) for key in env.trust), unsigned=env.unsigned_packs
        )
        archives = [await self._engine.packs.archive(one) for one in self.revision.archives]
        if self.revision.lifecycle is Lifecycle.WARMING:
            # One that was ready before has been loaded by a host, which was none the worse for it.
            await self._shared.trials.check(self.revision.archives, archives)
        main, *overlays = [await asyncio.to_thread(load_archive, data, trust) for data in archives]
        return bundle(main, overlays)

    async def _work(self, app: App, pack: LoadedPack) -> None:
        """Work until the revision is unloaded, the host stops or an operator drains the worker."""
        settings = WorkerSettings(
            name=f"host.{self.ref.env}",
            revision=self.revision.id,
            capabilities=self._settings.capabilities,
            slots=self._settings.slots,
            lease_ms=self._settings.lease_ms,
            tenant=self.ref.tenant,
        )
        worker = self._worker = Worker(app, settings)
        working = asyncio.ensure_future(worker.run())
        judging: asyncio.Future[None] | None = None
        try:
            await worker.wait_started(working)
            self.pack = pack
            self.decided.set()
            log.info("revision %s of %s is loaded", self.revision.id, self.ref.id)
            self._has_schedules = False
            judging = asyncio.ensure_future(self._attend(app))
            await first_of(working, self._stopping.wait())
        finally:
            if judging is not None:
                judging.cancel()
            worker.drain()
            try:
                await working
            finally:
                self._worker = None
        log.info("revision %s of %s is unloaded", self.revision.id, self.ref.id)

    async def _attend(self, app: App) -> None:
        """Judge the gates whenever the revision warms up, and take schedules over."""
        while True:
            self._news.clear()
            if not (await self._warm(app) and await self._take_schedules()):
                await pause(self._stopping, FIRST_PAUSE_S)
                continue
            await self._news.wait()

    async def _warm(self, app: App) -> bool:
        """Report the gates of a revision that warms up; returns whether that is settled."""
        providers = self.providers
        if self.revision.lifecycle is not Lifecycle.WARMING or providers is None:
            return True
        seen = self.revision
        try:
            gates = await judged(self._engine, app, providers)
        except HoldfastError as error:
            log.log(level(error), "revision %s: %s", seen.id, error)
            return False
        return await self._judge(gates, seen)

    async def _take_schedules(self) -> bool:
        """Make the schedules of the deployment those of this revision; returns whether they are."""
        if not self._owns or self._has_schedules:
            return True
        try:
            await timers.take_over(self._engine, self.ref, self._plans)
        except HoldfastError as error:
            log.log(level(error), "schedules of %s: %s", self.ref.id, error)
            return False
        self._has_schedules = True
        return True

    async def _failed(self, error: Exception) -> None:
        """Fail a revision that warms up; another one is tried again."""
        if isinstance(error, HoldfastError) and will_pass(error):
            log.log(level(error), "revision %s is not loaded yet: %s", self.revision.id, error)
            return
        reason = _reason(error)
        log.error(
            "revision %s of %s does not load: %s",
            self.revision.id,
            self.ref.id,
            reason,
            exc_info=None if isinstance(error, HoldfastError | TimeoutError) else error,
        )
        is_signing = isinstance(error, InvalidPack) and error.context.get("problem") in _SIGNING
        failed = SIGNATURES if is_signing else LOADS
        await self._judge([Gate(name=failed, passed=False, reason=reason)], self.revision)

    async def _judge(self, gates: list[Gate], revision: Revision) -> bool:
        """Report a verdict about the warm-up that was seen; returns whether that is settled."""
        if revision.lifecycle is not Lifecycle.WARMING:
            return True
        try:
            await self._engine.deployments.judge(
                self.ref, revision.id, gates, seen=revision.version
            )
        except Conflict as error:
            # Another host judged it before, or it was archived.
            log.debug("revision %s: %s", revision.id, error)
        except HoldfastError as error:
            log.log(level(error), "revision %s: %s", revision.id, error)
            return False
        return True


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"it takes longer than {LOAD_S:g} s to load"
    text = str(error) if isinstance(error, HoldfastError) else f"{type(error).__name__}: {error}"
    return text[: bounds.REASON_CHARS]

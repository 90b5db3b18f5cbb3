"""The host: serves the revisions of an env, as their lifecycles say."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from holdfast.concurrency import first_of, stop, wait_or_timeout
from holdfast.engine import Engine
from holdfast.errors import HoldfastError, ProviderNotLoaded
from holdfast.host.components import SandboxSettings
from holdfast.host.components.slots import Slots
from holdfast.host.flows.pacing import Pace
from holdfast.host.identifying import Identity, Inbound
from holdfast.host.loading import LoadedPack
from holdfast.host.providers import Providers
from holdfast.host.serving import Serving, Shared
from holdfast.host.settings import LOAD_S, HostSettings
from holdfast.host.timers import owner_of
from holdfast.host.trials import Trials
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import Deployment
from holdfast.model.revisions import Lifecycle, Revision
from holdfast.model.sessions import TurnAnswer
from holdfast.outages import level
from holdfast.worker.patience import pause

log: logging.Logger = logging.getLogger(__name__)

#: Packs that are loaded at once; the others wait.
_LOADS_AT_ONCE = 2
_PAUSE_S = 1.0
IDENTIFY_MS = 1_000
INVOKE_MS = 10_000


class Host:
    """Loads the revisions of packs that an env serves, and unloads them when nothing needs them.

    Revisions of apps are served by workers, see `holdfast worker --revision`.
    """

    def __init__(
        self,
        engine: Engine,
        settings: HostSettings | None = None,
        *,
        trials: Trials | None = None,
    ) -> None:
        self.settings: HostSettings = settings or HostSettings()
        self._engine = engine
        self._serving: dict[str, Serving] = {}
        #: Revisions that were unloaded and still finish what runs.
        self._leaving: set[Serving] = set()
        sandbox = self.settings.sandbox or SandboxSettings()
        self._shared = Shared(
            loading=asyncio.Semaphore(_LOADS_AT_ONCE),
            loaded=self._when_loaded,
            pace=Pace(),
            trials=trials or Trials(),
            calls=Slots(sandbox.calls_per_tenant),
        )
        self._stopping = asyncio.Event()
        #: Set when the revisions of the first look are known.
        self.started: asyncio.Event = asyncio.Event()

    @property
    def loaded(self) -> tuple[str, ...]:
        """The ids of the revisions that it works for now."""
        return tuple(sorted(name for name, one in self._serving.items() if one.is_loaded))

    def drain(self) -> None:
        """Take no new work; `run` returns when the running executions have ended."""
        self._stopping.set()

    def release(self) -> None:
        """Stop immediately and return all leases; the executions continue elsewhere."""
        self._stopping.set()
        for serving in (*self._serving.values(), *self._leaving):
            serving.release()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Host]:
        """Serve while the block runs; then drain."""
        serving = asyncio.ensure_future(self.run())
        try:
            await first_of(serving, self.started.wait())
            yield self
        finally:
            self.drain()
            await serving

    async def handle_activity(
        self, activity: NewActivity, *, deployment: str | None = None, wait_ms: int = 10_000
    ) -> TurnAnswer:
        """Deliver a message to the revision that answers it, wherever that is loaded.

        This is `engine.activities.handle`, for programs that have a host at hand.
        """
        return await self._engine.activities.handle(
            activity, deployment=deployment, wait_ms=wait_ms
        )

    async def handle_activity_for_revision(
        self,
        activity: NewActivity,
        revision: str,
        *,
        deployment: str | None = None,
        wait_ms: int = 10_000,
    ) -> TurnAnswer:
        """Deliver a message; a conversation that it starts runs on this revision."""
        return await self._engine.activities.handle_for_revision(
            activity, revision, deployment=deployment, wait_ms=wait_ms
        )

    async def identify(
        self,
        revision: str,
        inbound: Inbound,
        types: Sequence[str] | None = None,
        *,
        timeout_ms: int = IDENTIFY_MS,
    ) -> dict[str, Identity]:
        """Ask the providers of a loaded revision whose a request is.

        Each provider sees the body and the headers that its pack declares for it. Returns what is
        known for each of the types, by default of all that the packs have; see
        `identifying.resolve` for the one instance that is meant. Raises ProviderNotLoaded,
        ProviderFailed and AmbiguousIdentity.
        """
        if types is not None and not types:
            return {}
        providers = self._providers(revision)
        return await providers.identify(inbound, types, timeout_ms=timeout_ms)

    async def invoke_provider(
        self,
        revision: str,
        type: str,  # noqa: A002 - its name
        operation: str,
        input: Any,  # noqa: A002 - its name
        *,
        key: str,
        timeout_ms: int = INVOKE_MS,
    ) -> Any:
        """Run an operation that a provider of a loaded revision declares; returns its output.

        `key` is the same whenever the same call is made again. Nothing runs unless exactly one
        provider fits: ProviderNotLoaded, ProviderNotFound, AmbiguousProvider and OperationDenied
        say why. A provider that fails raises ProviderFailed.
        """
        providers = self._providers(revision)
        return await providers.invoke(type, operation, input, key=key, timeout_ms=timeout_ms)

    def _providers(self, revision: str) -> Providers:
        serving = self._serving.get(revision)
        if serving is None or serving.providers is None:
            message = f"the revision {revision} is not loaded on this host"
            if serving is not None:
                ref = serving.ref
                message = f"{message}: {ref.id} of {ref.tenant} in {ref.env}"
            raise ProviderNotLoaded(message, revision=revision)
        return serving.providers

    async def run(self) -> None:
        """Serve until drained."""
        watching = asyncio.ensure_future(self._watch())
        try:
            await first_of(watching, self._stopping.wait())
            if watching.done():
                watching.result()
        finally:
            await stop(watching)
            for serving in self._serving.values():
                serving.drain()
            ending = [*self._serving.values(), *self._leaving]
            await asyncio.gather(*(one.running for one in ending), return_exceptions=True)

    async def _watch(self) -> None:
        """Follow the deployments of the env; an outage of the store is waited out."""
        while True:
            try:
                async for changed in self._engine.deployments.watch(self.settings.env):
                    for deployment in changed:
                        self._follow(deployment)
                    self.started.set()
            except HoldfastError as error:
                log.log(level(error), "deployments are not watched: %s", error)
            await pause(self._stopping, _PAUSE_S)

    def _follow(self, deployment: Deployment) -> None:
        """Load what a deployment serves now, and unload what it does not."""
        if deployment.pack is None or not self.settings.serves(deployment.tenant):
            return
        served = {one.id for one in deployment.served}
        for revision in deployment.revisions:
            if revision.id not in served and revision.id in self._serving:
                self._unload(revision.id)
        owner = owner_of(deployment)
        for revision in _sound_first(deployment.served):
            owns = revision.id == owner
            serving = self._serving.get(revision.id)
            if serving is not None:
                serving.see(revision, owns=owns)
                continue
            self._serving[revision.id] = Serving(
                self._engine,
                deployment.ref,
                revision,
                self.settings,
                self._shared,
                owns=owns,
            )

    async def _when_loaded(self, revision_id: str) -> LoadedPack | None:
        """Return a revision that is served here, when it is loaded; None if that takes too long."""
        serving = self._serving.get(revision_id)
        if serving is None:
            return None
        await wait_or_timeout(serving.decided, LOAD_S)
        return serving.pack

    def _unload(self, revision_id: str) -> None:
        serving = self._serving.pop(revision_id)
        serving.drain()
        self._leaving.add(serving)
        serving.running.add_done_callback(lambda _: self._leaving.discard(serving))


def _sound_first(revisions: Sequence[Revision]) -> list[Revision]:
    """Return revisions that were ready before those that were never loaded."""
    return sorted(revisions, key=lambda one: one.lifecycle is Lifecycle.WARMING)

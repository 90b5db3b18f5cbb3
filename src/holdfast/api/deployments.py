"""Deployments: revisions of a pack or an app, and how new sessions are split between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from holdfast.model.deployments import (
    Deployment,
    DeploymentEvent,
    DeploymentPage,
    DeploymentRef,
    NewDeployment,
    RouteExplanation,
    Split,
    SplitEntry,
)
from holdfast.model.figures import WINDOW_MS, Figures
from holdfast.model.forecasts import Forecast
from holdfast.model.ids import new_id
from holdfast.model.revisions import Gate, NeedPage, NewRevision, Revision


class Deployments(ABC):
    """Operations on deployments.

    All that take a DeploymentRef raise DeploymentNotFound, and AmbiguousDeployment if it names no
    tenant and several have a deployment of this id. Those about a revision raise RevisionNotFound.
    """

    @abstractmethod
    async def create(self, new: NewDeployment) -> tuple[Deployment, bool]:
        """Create a deployment; return it and whether it is new.

        Repeating the call with the same content returns the existing one.

        Raises:
            EnvNotFound: the env was not created.
            DeploymentConflict: the id belongs to a deployment with different content.
        """

    @abstractmethod
    async def get(self, ref: DeploymentRef) -> Deployment:
        """Return a deployment, with counts of the executions that need each revision."""

    @abstractmethod
    async def set_restart_text(self, ref: DeploymentRef, text: str) -> Deployment:
        """Set what users read when an overdue drain ends their conversation."""

    @abstractmethod
    async def delete(self, ref: DeploymentRef) -> None:
        """Delete a deployment with its revisions, schedules and history.

        Raises DeploymentInUse: hosts serve a revision. Route nowhere and drain it first.
        """

    @abstractmethod
    async def list(
        self, env: str, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> DeploymentPage:
        """Return a page of the deployments of an env, by tenant and id."""

    @abstractmethod
    async def events(self, ref: DeploymentRef, *, limit: int = 50) -> Sequence[DeploymentEvent]:
        """Return what happened to a deployment and who did it, the newest first."""

    @abstractmethod
    async def explain(self, ref: DeploymentRef, session: str) -> RouteExplanation:
        """Explain where the next message of a session would go; nothing changes.

        A session that does not exist yet is one without a wait.
        """

    @abstractmethod
    def watch(self, env: str) -> AsyncIterator[Sequence[Deployment]]:
        """Yield all deployments of an env, then those that change, as they change.

        Raises NotOverHttp where the store is not near.
        """

    # Revisions

    async def stage(
        self,
        ref: DeploymentRef,
        *,
        digest: str | None = None,
        revision_id: str | None = None,
        overlays: Sequence[str] = (),
        config: Mapping[str, Any] | None = None,
        packs_of: str | None = None,
    ) -> tuple[Revision, bool]:
        """Stage a revision; return it and whether it is new. It never changes afterwards.

        A deployment of a pack needs the digest of an uploaded pack; one of an app needs none. The
        packs are those that the tenant `packs_of` uploaded, or any tenant if it is None. An id is
        generated if absent; it must be unique in the store, because workers advertise it alone.

        Raises:
            PackNotFound: no such pack was uploaded.
            PackMismatch: the deployment runs another pack.
            UntrustedPack: the env trusts no key that signed it.
            RevisionConflict: the id means another revision.
            TooManyRevisions: archive some first.
        """
        new = NewRevision(
            id=new_id() if revision_id is None else revision_id,
            digest=digest,
            overlays=overlays,
            config=config or {},
            packs_of=packs_of,
        )
        revision, is_new = await self._stage(ref, new)
        return revision, is_new or revision_id is None

    @abstractmethod
    async def _stage(self, ref: DeploymentRef, new: NewRevision) -> tuple[Revision, bool]:
        """Stage a revision; return it and whether this call created it."""

    @abstractmethod
    async def warm(self, ref: DeploymentRef, revision_id: str) -> Revision:
        """Let hosts load a revision and judge its gates; one that is ready stays so.

        Raises IllegalTransition.
        """

    @abstractmethod
    async def judge(
        self, ref: DeploymentRef, revision_id: str, gates: Sequence[Gate], *, seen: int
    ) -> Revision:
        """Report the gates of a revision that warms up: it is ready if all passed, else failed.

        `seen` is the version of the lifecycle that was judged; a verdict on another is refused.

        Raises:
            StaleLifecycle: the lifecycle has changed since.
            IllegalTransition: the revision does not warm up.
        """

    @abstractmethod
    async def drain(
        self, ref: DeploymentRef, revision_id: str, *, deadline_ms: int | None = None
    ) -> Revision:
        """Let a revision start nothing more; it becomes inactive when nothing needs it.

        After the deadline, conversations that wait move to another revision where the rest of
        their flow is the same there, and end with a message to the user otherwise; what runs gets
        a minute more. Another deadline, counted from the beginning of the drain, replaces the
        first. Repeated, the call counts again what needs the revision. Maintenance does so when
        its last execution ends.

        Raises:
            RevisionRoutable: the split routes to it.
            IllegalTransition: it is not ready.
        """

    @abstractmethod
    async def needs(
        self, ref: DeploymentRef, revision_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> NeedPage:
        """Return a page of the executions that need a revision.

        In each partition those that wait come first, the longest wait before the others. Executions
        that end between two pages can hide others from the second.
        """

    @abstractmethod
    async def forecast(self, ref: DeploymentRef, revision_id: str) -> Forecast:
        """Foretell when nothing needs a revision any more, if nothing new starts on it.

        It goes by how many executions stopped needing it lately, by the time limits of those that
        wait, and by the deadline of its drain.
        """

    @abstractmethod
    async def figures(
        self, ref: DeploymentRef, revision_id: str, *, window_ms: int = WINDOW_MS
    ) -> Figures:
        """Return how the turns of a revision ended lately, in at most the last hour.

        Turns are counted in intervals of 10 s; the one in which the window begins counts.
        """

    @abstractmethod
    async def archive(self, ref: DeploymentRef, revision_id: str) -> Revision:
        """Keep a revision for the record only. Raises IllegalTransition."""

    # Splits

    @abstractmethod
    async def set_split(
        self,
        ref: DeploymentRef,
        entries: Sequence[SplitEntry],
        *,
        expected_generation: int,
        idempotency_key: str | None = None,
    ) -> Split:
        """Divide new sessions between revisions by weights that add up to 10,000.

        Equal content changes nothing. A key that was used answers as the first time.

        Raises:
            StaleGeneration: the split has changed since.
            RevisionNotReady: a weight is given to a revision that is not ready.
            IdempotencyConflict: the key was used for other entries.
        """

    @abstractmethod
    async def rollback(
        self,
        ref: DeploymentRef,
        *,
        to_generation: int | None = None,
        idempotency_key: str | None = None,
    ) -> Split:
        """Route as an earlier generation did, under a new one; by default, as the one before.

        Raises:
            GenerationNotFound: it is not among the last 10.
            RevisionNotReady: a revision of it is not ready any more.
            IdempotencyConflict: the key was used for another call.
        """

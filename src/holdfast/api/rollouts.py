"""Rollouts: a split moves to a new revision step by step, as long as its guards pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from holdfast.model.deployments import DeploymentRef
from holdfast.model.guards import Guards
from holdfast.model.ids import new_id
from holdfast.model.rollouts import NewRollout, Rollout, Step


class Rollouts(ABC):
    """Operations on rollouts.

    All raise DeploymentNotFound, and AmbiguousDeployment if no tenant is named and several have a
    deployment of this id. Those about a rollout raise RolloutNotFound; those that change one raise
    RolloutOver if it is completed or aborted, and are safe to repeat.
    """

    async def start(
        self,
        ref: DeploymentRef,
        revision_id: str,
        steps: Sequence[Step],
        *,
        guards: Guards | None = None,
        expected_generation: int | None = None,
        rollout_id: str | None = None,
    ) -> Rollout:
        """Give a revision the weight of the first step; the rest happens by itself.

        The weights of the steps increase up to 10,000. The other revisions of the split share the
        rest in the proportions that they have now. Without `guards`, those by default count. With
        `expected_generation`, only if the split still has it. Repeating the call with the same
        `rollout_id` returns the rollout.

        Raises:
            RevisionNotFound: the deployment has no such revision.
            RevisionNotReady: only revisions that are ready get new sessions.
            NoSplit: nothing is routed yet; set the split instead.
            StaleGeneration: the split has changed.
            RolloutActive: another rollout of the deployment is not over.
            RolloutConflict: the id means another rollout.
        """
        new = NewRollout(
            id=new_id() if rollout_id is None else rollout_id,
            ref=ref,
            revision=revision_id,
            steps=steps,
            guards=Guards() if guards is None else guards,
            expected_generation=expected_generation,
        )
        return await self._start(new)

    @abstractmethod
    async def _start(self, new: NewRollout) -> Rollout:
        """Start a rollout."""

    @abstractmethod
    async def get(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        """Return a rollout, with the current figures of its revisions if it is not over."""

    @abstractmethod
    async def list(self, ref: DeploymentRef, *, limit: int = 20) -> Sequence[Rollout]:
        """Return the last rollouts of a deployment, newest first; 20 are kept."""

    @abstractmethod
    async def pause(self, ref: DeploymentRef, rollout_id: str, *, reason: str = "") -> Rollout:
        """Stay in the step, without judging guards, until the rollout is continued."""

    @abstractmethod
    async def resume(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        """Continue a rollout; the pause does not count as time of its step."""

    @abstractmethod
    async def promote(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        """Give all new sessions to the new revision now, and end the rollout.

        Raises StaleGeneration if another call has changed the split.
        """

    @abstractmethod
    async def abort(self, ref: DeploymentRef, rollout_id: str, *, reason: str = "") -> Rollout:
        """End a rollout and return to the split before it.

        If another call has changed the split, or a revision of the split before is not ready any
        more, the split stays as it is, and `reason` says so.
        """

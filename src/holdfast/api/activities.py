"""Activities: messages for the deployments of a tenant, which find their revision."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model import checks
from holdfast.model.activities import Dispatch, NewActivity
from holdfast.model.sessions import TurnAnswer


class Activities(ABC):
    """Operations on activities."""

    async def handle(
        self,
        activity: NewActivity,
        *,
        deployment: str | None = None,
        sender: str | None = None,
        wait_ms: int = 10_000,
    ) -> TurnAnswer:
        """Deliver a message to the revision that answers it, and wait until its turn ends.

        A session that waits continues on its revision. Otherwise its pin decides, and without one
        the weights of the split; the choice is pinned. The same (endpoint, id) again is delivered
        once, and gets the same execution and replies. `deployment` is needed if the tenant has
        several in the env. A flow without a conversation runs as an execution, without replies.

        Raises:
            DeploymentNotFound: the tenant has no such deployment in the env, or none at all.
            AmbiguousDeployment: it has several.
            RevisionNotReady: the deployment routes to no revision.
            FlowNotFound, AmbiguousFlow: the revision has no such flow, or several.
            RevisionDraining: the revision began to drain, and so did the next choice.
            ConversationNotFound, SessionBusy, SessionFull: see Sessions.deliver.
        """
        return await self._handle(
            Dispatch(activity=activity, deployment=deployment, sender=sender, wait_ms=wait_ms)
        )

    async def handle_for_revision(
        self,
        activity: NewActivity,
        revision: str,
        *,
        deployment: str | None = None,
        sender: str | None = None,
        wait_ms: int = 10_000,
    ) -> TurnAnswer:
        """Deliver a message as `handle` does; a conversation that it starts runs on a revision.

        For trying a revision out before the split routes to it. Nothing is pinned. Raises what
        `handle` raises, RevisionNotFound, and RevisionNotReady if it is not ready.
        """
        return await self._handle(
            Dispatch(
                activity=activity,
                deployment=deployment,
                sender=sender,
                revision=checks.name("revision", revision),
                wait_ms=wait_ms,
            )
        )

    @abstractmethod
    async def _handle(self, dispatch: Dispatch) -> TurnAnswer:
        """Deliver a message."""

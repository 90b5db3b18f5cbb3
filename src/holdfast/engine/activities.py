"""Activities: find the deployment, choose the revision, deliver to the session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple, final

from typing_extensions import override

from holdfast.api import activities
from holdfast.engine.deployments import table_of
from holdfast.engine.executions import Executions
from holdfast.engine.sessions import Sessions
from holdfast.errors import (
    AmbiguousDeployment,
    DeploymentNotFound,
    ResultNotReady,
    RevisionDraining,
    RevisionNotReady,
    SessionNotFound,
)
from holdfast.model import directives, entries
from holdfast.model.activities import Dispatch, NewActivity
from holdfast.model.deployments import Deployment, DeploymentRef
from holdfast.model.revisions import Lifecycle, capability
from holdfast.model.sessions import Session, SessionState, TurnAnswer
from holdfast.routing import Cookie, Router
from holdfast.store.deployments import revision_in
from holdfast.store.store import Store

#: Flows of these types have a conversation.
_CONVERSING = frozenset({"messaging", "event"})
#: Two are enough to know that there is more than one.
_SEVERAL = 2


class _Target(NamedTuple):
    """What a message is for: a conversation or a task, and where it starts."""

    name: str
    revision: str
    is_task: bool = False


#: Chooses what a message is for, in a deployment as it is now.
_Choose = Callable[[Deployment], Awaitable[_Target]]


@final
class Activities(activities.Activities):
    """Activities on an open store."""

    def __init__(
        self, store: Store, sessions: Sessions, executions: Executions, router: Router
    ) -> None:
        self._deployments = store.deployments
        self._sessions = sessions
        self._executions = executions
        self._router = router

    @override
    async def _handle(self, dispatch: Dispatch) -> TurnAnswer:
        activity, revision = dispatch.activity, dispatch.revision

        async def choose(found: Deployment) -> _Target:
            if revision is None:
                return await self._route(found, activity)
            if revision_in(found, revision).lifecycle is not Lifecycle.READY:
                message = f"the revision {revision} is not ready, so nothing starts on it"
                raise RevisionNotReady(message, id=revision)
            waiting = await self._waiting(found, activity.to(found.id).key.id)
            return waiting or _target(found, revision, activity)

        return await self._dispatch(dispatch, choose)

    async def handle_from_browser(
        self, activity: NewActivity, *, deployment: str, cookie: Cookie | None
    ) -> TurnAnswer:
        """Deliver a message of an anonymous visitor, without waiting for replies.

        A cookie keeps the browser on a revision. There is no pin: strangers would fill the store.
        """

        async def choose(found: Deployment) -> _Target:
            return await self._route(found, activity, cookie=cookie, may_pin=False)

        dispatch = Dispatch(activity=activity, deployment=deployment, wait_ms=0)
        return await self._dispatch(dispatch, choose)

    async def _dispatch(self, dispatch: Dispatch, choose: _Choose) -> TurnAnswer:
        found = await self._find(dispatch)
        try:
            return await self._deliver(found, dispatch, await choose(found))
        except RevisionDraining:
            # It began to drain after it was chosen. The store has what is true now.
            found = await self._find(dispatch)
            return await self._deliver(found, dispatch, await choose(found))

    async def _find(self, dispatch: Dispatch) -> Deployment:
        """Return the deployment that a message is for."""
        env, tenant, deployment = (
            dispatch.activity.env,
            dispatch.activity.tenant,
            dispatch.deployment,
        )
        if deployment is not None:
            ref = DeploymentRef(env=env, id=deployment, tenant=tenant)
            return await self._deployments.get(ref)
        found, _ = await self._deployments.page(env, tenant, _SEVERAL, None)
        if not found:
            message = f"tenant {tenant} has no deployment in the env {env}"
            raise DeploymentNotFound(message, env=env, tenant=tenant)
        if len(found) > 1:
            message = f"tenant {tenant} has several deployments in the env {env}; name one of them"
            raise AmbiguousDeployment(message, env=env, tenant=tenant)
        return found[0]

    async def _route(
        self,
        found: Deployment,
        activity: NewActivity,
        *,
        cookie: Cookie | None = None,
        may_pin: bool = True,
    ) -> _Target:
        """Choose by wait, pin, cookie or weights."""
        session = activity.to(found.id).key.id
        waiting = await self._waiting(found, session)
        if waiting is not None:
            return waiting
        decision = await self._router.route(
            table_of(found), activity.hint or session, cookie=cookie, may_pin=may_pin
        )
        if decision.revision is None:
            message = f"the deployment {found.id} routes to no revision: set its split"
            raise RevisionNotReady(message, deployment=found.id)
        return _target(found, decision.revision, activity)

    async def _waiting(self, found: Deployment, session_id: str) -> _Target | None:
        """Return the conversation that is under way in a session, if it is of this deployment."""
        try:
            session: Session = await self._sessions.get(session_id)
        except SessionNotFound:
            return None
        revision = session.revision
        if session.state is SessionState.IDLE or revision is None:
            return None
        return _Target(session.kind, revision) if found.revision(revision) else None

    async def _deliver(self, found: Deployment, dispatch: Dispatch, target: _Target) -> TurnAnswer:
        activity, wait_ms = dispatch.activity, dispatch.wait_ms
        given = activity.to(found.id)
        if target.is_task:
            answer = await self._run(given.key.id, activity, target, wait_ms)
            return replace(answer, deployment=found.id)
        answer = await self._sessions.send(
            target.name, given, sender=dispatch.sender, revision=target.revision, wait_ms=wait_ms
        )
        answer = replace(answer, deployment=found.id)
        answered = directives.state_of(answer.replies) if answer.done else None
        # The execution only holds the decision: no flow ran.
        return answer if answered is None else replace(answer, state=answered, execution=None)

    async def _run(
        self, session: str, activity: NewActivity, target: _Target, wait_ms: int
    ) -> TurnAnswer:
        """Run a flow that has no conversation; the same activity again is the same execution."""
        submitted = await self._executions.submit(
            target.name,
            tenant=activity.tenant,
            input=b'{"input":%b}' % activity.content,
            requires=(capability(target.revision),),
            idempotency_key=f"{session}:{activity.id}",
        )
        try:
            outcome = await self._executions.wait(submitted.id, timeout_s=wait_ms / 1000)
            state, done = outcome.state, True
        except ResultNotReady:
            state, done = (await self._executions.describe(submitted.id)).state, False
        return TurnAnswer(
            session=session,
            execution=submitted.id,
            state=state.value,
            replies=(),
            done=done,
            revision=target.revision,
        )


def _target(found: Deployment, revision_id: str, activity: NewActivity) -> _Target:
    """Return what a message starts on a revision; raises FlowNotFound, AmbiguousFlow."""
    if found.app is not None:
        return _Target(found.app, revision_id)
    offered = revision_in(found, revision_id).entries
    pack, flow = entries.resolve(
        offered, pack=activity.pack, flow=activity.flow, type=activity.flow_type
    )
    (kind,) = (one.flows[flow] for one in offered if one.pack == pack)
    return _Target(entries.name_of(pack, flow), revision_id, kind not in _CONVERSING)

"""Calls of operators on executions: cancel, replay, revoke the lease, change the priority."""

from __future__ import annotations

from holdfast import errors
from holdfast.model.api_keys import Role
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.executions import StateView
from holdfast.server.views.fields import Body, Priority, Reason, StepName, View

routes: Routes = Routes("operating", "Calls of operators on executions.")


class ReasonBody(Body):
    """The reason, kept in the history."""

    reason: Reason = ""


@routes.post(
    "/v1/executions/{id}/cancel",
    role=Role.OPERATOR,
    owner=EXECUTION,
    errors=(errors.AlreadyTerminal,),
    example={"reason": "ordered twice"},
)
async def cancel(call: Call, id: str, body: ReasonBody) -> StateView:
    """Cancel an execution that has not ended. Its lease holder is notified at its next call."""
    await call.engine.cancel(id, body.reason)
    return StateView(state="cancelled")


class ReplayBody(Body):
    """Where to start the replay."""

    #: This step and later steps run again; earlier steps keep their results.
    from_step: StepName | None = None
    #: All steps keep their results.
    keep_steps: bool = False
    reason: Reason = ""


@routes.post(
    "/v1/executions/{id}/replay",
    role=Role.OPERATOR,
    owner=EXECUTION,
    errors=(
        errors.NotTerminal,
        errors.StepNotFound,
        errors.ReplayLimit,
        errors.MemberOfGraph,
        errors.StoreFull,
    ),
    example={"keep_steps": True, "reason": "the partner is back"},
)
async def replay(call: Call, id: str, body: ReplayBody) -> StateView:
    """Run an ended execution again, from the beginning or from a step."""
    state = await call.engine.replay(
        id, keep_steps=body.keep_steps, from_step=body.from_step, reason=body.reason
    )
    return StateView(state=state)


@routes.post(
    "/v1/executions/{id}/revoke-lease",
    role=Role.OPERATOR,
    owner=EXECUTION,
    errors=(errors.NotActive,),
    example={"reason": "the worker hangs"},
)
async def revoke_lease(call: Call, id: str, body: ReasonBody) -> StateView:
    """Revoke the lease of an execution. It is ready again at once."""
    await call.engine.revoke_lease(id, body.reason)
    return StateView(state="waiting")


class PriorityBody(Body):
    """The new priority."""

    priority: Priority


class PriorityView(View):
    """The new priority and the previous one."""

    priority: int
    previous: int


@routes.put(
    "/v1/executions/{id}/priority",
    role=Role.OPERATOR,
    owner=EXECUTION,
    errors=(errors.AlreadyTerminal,),
    example={"priority": 10},
)
async def prioritize(call: Call, id: str, body: PriorityBody) -> PriorityView:
    """Change the priority of an execution. Each point equals a minute of waiting."""
    previous = await call.engine.prioritize(id, body.priority)
    return PriorityView(priority=body.priority, previous=previous)

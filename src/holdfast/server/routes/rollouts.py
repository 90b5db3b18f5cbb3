"""Rollouts: a split moves to a new revision step by step, as long as its guards pass."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.deployments import WHOLE_BPS
from holdfast.model.guards import Guards
from holdfast.model.rollouts import Step
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.routes.deployments import FIND, FIND_REVISION, ONE, Generation, named
from holdfast.server.views.deployments import RolloutPage, RolloutView
from holdfast.server.views.fields import Body, Name, PageLimit, Reason

routes: Routes = Routes("rollouts", "Splits that move to a new revision step by step.")

_ALL = ONE + "/rollouts"
_ONE = _ALL + "/{o}"


class StepBody(Body):
    """A share of the new sessions, and how long the new revision is watched with it."""

    weight_bps: Annotated[int, Meta(ge=1, le=WHOLE_BPS)]
    duration_ms: Annotated[int, Meta(ge=0, le=bounds.ROLLOUT_STEP_MS)] = 0


class GuardsBody(Body):
    """What the new revision may do worse than the old one; null lifts a limit."""

    #: The new revision must end this many turns in a step before it is judged.
    min_turns: Annotated[int, Meta(ge=1, le=bounds.MIN_TURNS)] = 20
    #: How much higher its error rate may be, in basis points.
    error_rate_bps: Annotated[int, Meta(ge=0, le=WHOLE_BPS)] | None = 200
    #: Its 95th percentile of latency in percent of that of the old one.
    p95_percent: Annotated[int, Meta(ge=100, le=bounds.LATENCY_PERCENT)] | None = 150


class RolloutBody(Body):
    """A rollout to start."""

    #: The new revision, which is ready.
    revision: Name
    #: With weights that increase up to 10,000.
    steps: Annotated[tuple[StepBody, ...], Meta(min_length=1, max_length=bounds.ROLLOUT_STEPS)]
    guards: GuardsBody = field(default_factory=GuardsBody)
    #: Only if the split has this generation.
    expected_generation: Generation | None = None
    #: Sent again with the same id, the call returns the rollout. Generated if absent.
    id: Name | None = None


@routes.post(
    _ALL,
    role=Role.OPERATOR,
    status=201,
    errors=(
        *FIND_REVISION,
        errors.RevisionNotReady,
        errors.NoSplit,
        errors.StaleGeneration,
        errors.RolloutActive,
        errors.RolloutConflict,
        errors.StoreFull,
    ),
    example={
        "revision": "blue",
        "steps": [{"weight_bps": 1_000, "duration_ms": 600_000}, {"weight_bps": 10_000}],
        "guards": {"min_turns": 50},
    },
)
async def start(
    call: Call, env: str, d: str, body: RolloutBody, query: TenantQuery
) -> Answer[RolloutView]:
    """Give a revision the weight of the first step; the rest happens by itself."""
    rollout = await call.engine.rollouts.start(
        named(call, env, d, query),
        body.revision,
        [Step(weight_bps=one.weight_bps, duration_ms=one.duration_ms) for one in body.steps],
        guards=Guards(
            min_turns=body.guards.min_turns,
            error_rate_bps=body.guards.error_rate_bps,
            p95_percent=body.guards.p95_percent,
        ),
        expected_generation=body.expected_generation,
        rollout_id=body.id,
    )
    return Answer(RolloutView.of(rollout), 201)


class ListQuery(TenantQuery):
    """How many."""

    limit: PageLimit = 20


@routes.get(_ALL, errors=FIND)
async def list_rollouts(call: Call, env: str, d: str, query: ListQuery) -> RolloutPage:
    """List the last rollouts of a deployment, the newest first. 20 are kept."""
    found = await call.engine.rollouts.list(named(call, env, d, query), limit=query.limit)
    return RolloutPage(items=[RolloutView.of(rollout) for rollout in found])


_FIND = (*FIND, errors.RolloutNotFound)


@routes.get(_ONE, errors=_FIND)
async def describe(call: Call, env: str, d: str, o: str, query: TenantQuery) -> RolloutView:
    """Read a rollout, with the current figures of its revisions if it is not over."""
    return RolloutView.of(await call.engine.rollouts.get(named(call, env, d, query), o))


class ReasonBody(Body):
    """Why."""

    reason: Reason = ""


_ACT: dict[str, Any] = {"role": Role.OPERATOR}
_ACT_ERRORS = (*_FIND, errors.RolloutOver)


@routes.post(_ONE + "/pause", errors=_ACT_ERRORS, example={"reason": "a look at it"}, **_ACT)
async def pause(
    call: Call, *, env: str, d: str, o: str, body: ReasonBody, query: TenantQuery
) -> RolloutView:
    """Stay in the step, without judging guards, until the rollout is continued."""
    ref = named(call, env, d, query)
    return RolloutView.of(await call.engine.rollouts.pause(ref, o, reason=body.reason))


@routes.post(_ONE + "/continue", errors=_ACT_ERRORS, **_ACT)
async def resume(call: Call, env: str, d: str, o: str, query: TenantQuery) -> RolloutView:
    """Continue a rollout. The pause does not count as time of its step."""
    return RolloutView.of(await call.engine.rollouts.resume(named(call, env, d, query), o))


@routes.post(_ONE + "/promote", errors=(*_ACT_ERRORS, errors.StaleGeneration), **_ACT)
async def promote(call: Call, env: str, d: str, o: str, query: TenantQuery) -> RolloutView:
    """Give all new sessions to the new revision now, and end the rollout."""
    return RolloutView.of(await call.engine.rollouts.promote(named(call, env, d, query), o))


@routes.post(_ONE + "/abort", errors=_ACT_ERRORS, example={"reason": "odd replies"}, **_ACT)
async def abort(
    call: Call, *, env: str, d: str, o: str, body: ReasonBody, query: TenantQuery
) -> RolloutView:
    """End a rollout and return to the split before it.

    If somebody else has changed the split, it stays as it is, and `reason` says so.
    """
    ref = named(call, env, d, query)
    return RolloutView.of(await call.engine.rollouts.abort(ref, o, reason=body.reason))

"""Revisions of deployments, and their lifecycle."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.figures import WINDOW_MS
from holdfast.model.revisions import Gate
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.routes.deployments import FIND, FIND_REVISION, ONE, named
from holdfast.server.views.deployments import (
    FiguresView,
    ForecastView,
    NeedPageView,
    NeedView,
    RevisionView,
)
from holdfast.server.views.fields import Body, Cursor, DurationMs, Name, PageLimit, Reason

routes: Routes = Routes("revisions", "What deployments run: never changed, only moved along.")

_REVISION = ONE + "/revisions/{r}"

Digest = Annotated[str, Meta(pattern="^sha256:[0-9a-f]{64}$")]


class RevisionBody(Body):
    """A revision to stage."""

    #: Of a pack that was uploaded; none for an app.
    digest: Digest | None = None
    #: Unique in the store; generated if absent.
    id: Name | None = None
    #: Digests of packs that are added to the first.
    overlays: Annotated[tuple[Digest, ...], Meta(max_length=bounds.OVERLAYS)] = ()
    #: What the host gives to the pack besides secrets.
    config: dict[str, Any] = field(default_factory=dict)


@routes.post(
    ONE + "/revisions",
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(
        *FIND,
        errors.PackNotFound,
        errors.PackMismatch,
        errors.UntrustedPack,
        errors.RevisionConflict,
        errors.TooManyRevisions,
        errors.StoreFull,
    ),
    example={"config": {"greeting": "Hello"}},
)
async def stage(
    call: Call, env: str, d: str, body: RevisionBody, query: TenantQuery
) -> Answer[RevisionView]:
    """Stage a revision. Repeating the call with the same id and content returns it."""
    revision, created = await call.engine.deployments.stage(
        named(call, env, d, query),
        digest=body.digest,
        revision_id=body.id,
        overlays=body.overlays,
        config=body.config,
        packs_of=call.identity.tenant,
    )
    return Answer(RevisionView.of(revision), 201 if created else 200)


_ACT: dict[str, Any] = {"role": Role.OPERATOR}


@routes.post(_REVISION + "/warm", errors=(*FIND_REVISION, errors.IllegalTransition), **_ACT)
async def warm(call: Call, env: str, d: str, r: str, query: TenantQuery) -> RevisionView:
    """Let hosts load a revision and judge its gates. One that is ready stays so."""
    ref = named(call, env, d, query)
    return RevisionView.of(await call.engine.deployments.warm(ref, r))


class GateBody(Body):
    """A check that a revision passed, or not."""

    name: Name
    passed: bool
    #: Why it did not pass.
    reason: Reason = ""


class JudgeBody(Body):
    """What a host found."""

    gates: Annotated[tuple[GateBody, ...], Meta(min_length=1, max_length=bounds.GATES)]
    #: The version of the lifecycle that was judged.
    seen: Annotated[int, Meta(ge=1, le=bounds.AMOUNT)]


@routes.post(
    _REVISION + "/judge",
    errors=(*FIND_REVISION, errors.IllegalTransition, errors.StaleLifecycle),
    example={"gates": [{"name": "loads", "passed": True}], "seen": 2},
    **_ACT,
)
async def judge(
    call: Call, *, env: str, d: str, r: str, body: JudgeBody, query: TenantQuery
) -> RevisionView:
    """Report the gates of a revision that warms up: ready if all passed, else failed.

    `seen` is the `version` of the revision that was judged; a verdict on another is refused.
    """
    gates = [Gate(name=one.name, passed=one.passed, reason=one.reason) for one in body.gates]
    ref = named(call, env, d, query)
    return RevisionView.of(await call.engine.deployments.judge(ref, r, gates, seen=body.seen))


class DrainBody(Body):
    """How long it may take."""

    #: From the begin of the drain. What waits longer moves or ends; what runs gets a minute more.
    deadline_ms: DurationMs | None = None


@routes.post(
    _REVISION + "/drain",
    errors=(*FIND_REVISION, errors.IllegalTransition, errors.RevisionRoutable),
    example={"deadline_ms": 3_600_000},
    **_ACT,
)
async def drain(
    call: Call, *, env: str, d: str, r: str, body: DrainBody, query: TenantQuery
) -> RevisionView:
    """Let a revision start nothing more. It becomes `inactive` when nothing needs it.

    After the deadline, conversations that wait continue on another revision if the rest of their
    flow is the same there; the others end with `restart_text` of the deployment.
    """
    ref = named(call, env, d, query)
    deadline_ms = body.deadline_ms
    return RevisionView.of(await call.engine.deployments.drain(ref, r, deadline_ms=deadline_ms))


class NeedsQuery(TenantQuery):
    """Which page."""

    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get(_REVISION + "/needs", errors=FIND_REVISION)
async def needs(call: Call, *, env: str, d: str, r: str, query: NeedsQuery) -> NeedPageView:
    """List the executions that need a revision, in each partition the longest wait first."""
    page = await call.engine.deployments.needs(
        named(call, env, d, query), r, limit=query.limit, cursor=query.cursor
    )
    items = [NeedView.of(need) for need in page.items]
    return NeedPageView(items=items, next_cursor=page.next_cursor)


@routes.get(_REVISION + "/forecast", errors=FIND_REVISION)
async def forecast(call: Call, env: str, d: str, r: str, query: TenantQuery) -> ForecastView:
    """Foretell when nothing needs a revision any more, if nothing new starts on it.

    It goes by how many executions stopped needing it in the last hour, by the time limits of those
    that wait, and by the deadline of its drain; `sentence` says which.
    """
    return ForecastView.of(await call.engine.deployments.forecast(named(call, env, d, query), r))


class FiguresQuery(TenantQuery):
    """Which turns count."""

    #: Those that ended in the last ms, at most an hour.
    window_ms: Annotated[int, Meta(ge=1, le=WINDOW_MS)] = WINDOW_MS


@routes.get(_REVISION + "/figures", errors=FIND_REVISION, query_example={"window_ms": 600_000})
async def figures(call: Call, env: str, d: str, r: str, query: FiguresQuery) -> FiguresView:
    """Read how many turns ended on a revision lately, how many failed, and how long they took."""
    ref = named(call, env, d, query)
    found = await call.engine.deployments.figures(ref, r, window_ms=query.window_ms)
    return FiguresView.of(found)


@routes.post(_REVISION + "/archive", errors=(*FIND_REVISION, errors.IllegalTransition), **_ACT)
async def archive(call: Call, env: str, d: str, r: str, query: TenantQuery) -> RevisionView:
    """Keep a revision for the record only."""
    ref = named(call, env, d, query)
    return RevisionView.of(await call.engine.deployments.archive(ref, r))

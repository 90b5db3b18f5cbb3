"""Deployments: revisions of a pack or an app, and the split between them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.deployments import WHOLE_BPS, DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.ids import new_id
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.deployments import (
    DeploymentPageView,
    DeploymentView,
    EventPage,
    EventView,
    RouteView,
    SplitView,
)
from holdfast.server.views.fields import (
    Body,
    Cursor,
    Key,
    Kind,
    Name,
    PageLimit,
    Query,
    Tenants,
)

routes: Routes = Routes(
    "deployments", "Revisions of a pack or an app, and how new sessions are split between them."
)

ALL = "/v1/envs/{env}/deployments"
ONE = ALL + "/{d}"

FIND = (errors.DeploymentNotFound, errors.AmbiguousDeployment)
FIND_REVISION = (*FIND, errors.RevisionNotFound)

Routed = Annotated[tuple[str, ...], Meta(max_length=bounds.DEPLOYMENT_ROUTES)]
Generation = Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]


def named(call: Call, env: str, d: str, query: Any) -> DeploymentRef:
    """Return the deployment of a path; an operator need not name the tenant of a unique id."""
    return DeploymentRef(env=env, id=d, tenant=call.identity.tenant or query.tenant)


class DeploymentBody(Body):
    """A deployment to create: of a pack, or of an app."""

    #: Generated if absent.
    id: Name | None = None
    tenant: Name | None = None
    #: The id of a pack.
    pack: Name | None = None
    #: The name of a conversation that workers publish.
    app: Kind | None = None
    #: Host names that it answers; none means any.
    hosts: Routed = ()
    #: Paths that it answers, with everything below them; none means all.
    path_prefixes: Routed = ()


@routes.post(
    ALL,
    role=Role.OPERATOR,
    status=(201, 200),
    errors=(errors.EnvNotFound, errors.DeploymentConflict, errors.StoreFull),
    example={"pack": "shop", "hosts": ["shop.example"], "path_prefixes": ["/chat"]},
)
async def create(call: Call, env: str, body: DeploymentBody) -> Answer[DeploymentView]:
    """Create a deployment. Repeating the call with the same id and content returns it."""
    deployment, created = await call.engine.deployments.create(
        NewDeployment(
            env=env,
            id=body.id or new_id(),
            tenant=str(call.tenant),
            pack=body.pack,
            app=body.app,
            hosts=body.hosts,
            path_prefixes=body.path_prefixes,
        )
    )
    return Answer(DeploymentView.of(deployment), 201 if created else 200)


class ListQuery(Query):
    """Whose deployments to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get(ALL)
async def list_deployments(call: Call, env: str, query: ListQuery) -> DeploymentPageView:
    """List deployments, with what needs each of their revisions."""
    page = await call.engine.deployments.list(
        env, tenant=call.tenant, limit=query.limit, cursor=query.cursor
    )
    items = [DeploymentView.of(deployment) for deployment in page.items]
    return DeploymentPageView(items=items, next_cursor=page.next_cursor)


@routes.get(ONE, errors=FIND)
async def describe(call: Call, env: str, d: str, query: TenantQuery) -> DeploymentView:
    """Read a deployment, its split, and its revisions with what needs each of them."""
    ref = named(call, env, d, query)
    return DeploymentView.of(await call.engine.deployments.get(ref))


class ChangeBody(Body):
    """What to change."""

    #: What users read when an overdue drain ends their conversation.
    restart_text: Annotated[str, Meta(min_length=1, max_length=bounds.REASON_CHARS)]


@routes.patch(
    ONE,
    role=Role.OPERATOR,
    errors=(*FIND, errors.StoreFull),
    example={"restart_text": "We have a new menu. Please order again."},
)
async def change(
    call: Call, env: str, d: str, body: ChangeBody, query: TenantQuery
) -> DeploymentView:
    """Set what users read when an overdue drain ends their conversation."""
    ref = named(call, env, d, query)
    found = await call.engine.deployments.set_restart_text(ref, body.restart_text)
    return DeploymentView.of(found)


@routes.delete(
    ONE,
    role=Role.OPERATOR,
    status=204,
    errors=(*FIND, errors.DeploymentInUse),
    takes_key=True,
)
async def delete(call: Call, env: str, d: str, query: TenantQuery) -> None:
    """Delete a deployment with its revisions and schedules.

    It is refused as `deployment_in_use` while a revision warms up, is ready or drains: set a split
    without entries, then drain what is ready.
    """
    await call.engine.deployments.delete(named(call, env, d, query))


class ExplainQuery(TenantQuery, kw_only=True):
    """Whose next message."""

    #: The id of a session, or of one that does not exist yet.
    session: Key


@routes.get(ONE + "/explain", errors=FIND, query_example={"session": "s1"})
async def explain(call: Call, env: str, d: str, query: ExplainQuery) -> RouteView:
    """Explain where the next message of a session would go: `wait`, `pin`, `cookie`, `weights`."""
    ref = named(call, env, d, query)
    return RouteView.of(await call.engine.deployments.explain(ref, query.session))


class EventsQuery(TenantQuery):
    """How many events."""

    limit: PageLimit = 50


@routes.get(ONE + "/events", errors=FIND)
async def events(call: Call, env: str, d: str, query: EventsQuery) -> EventPage:
    """Read what happened to a deployment and who did it, the newest first."""
    found = await call.engine.deployments.events(named(call, env, d, query), limit=query.limit)
    return EventPage(items=[EventView.of(event) for event in found])


class EntryBody(Body):
    """A share of the new sessions."""

    revision: Name
    #: In basis points; 0 lists the revision and routes nothing to it.
    weight_bps: Annotated[int, Meta(ge=0, le=WHOLE_BPS)]


class SplitBody(Body):
    """Weights that add up to 10,000; no entries route nowhere."""

    entries: Annotated[tuple[EntryBody, ...], Meta(max_length=bounds.SPLIT_ENTRIES)]
    #: The generation that this replaces; 0 before the first.
    expected_generation: Generation
    #: Sent again, the call answers as the first time. Minted if absent.
    idempotency_key: Key | None = None


_SPLIT_ERRORS = (
    *FIND_REVISION,
    errors.IdempotencyConflict,
    errors.RevisionNotReady,
    errors.StoreFull,
)


@routes.put(
    ONE + "/split",
    errors=(*_SPLIT_ERRORS, errors.StaleGeneration),
    example={
        "entries": [{"revision": "blue", "weight_bps": 10_000}],
        "expected_generation": 0,
        "idempotency_key": "release-17",
    },
    role=Role.OPERATOR,
)
async def set_split(call: Call, env: str, d: str, body: SplitBody, query: TenantQuery) -> SplitView:
    """Divide new sessions between revisions that are ready. Equal content changes nothing."""
    entries = [
        SplitEntry(revision=entry.revision, weight_bps=entry.weight_bps) for entry in body.entries
    ]
    split = await call.engine.deployments.set_split(
        named(call, env, d, query),
        entries,
        expected_generation=body.expected_generation,
        idempotency_key=body.idempotency_key,
    )
    return SplitView.of(split)


class RollbackBody(Body):
    """Where to."""

    #: One of the last 10; by default the one before.
    to_generation: Annotated[int, Meta(ge=1, le=bounds.AMOUNT)] | None = None
    #: Sent again, the call answers as the first time. Minted if absent.
    idempotency_key: Key | None = None


@routes.post(
    ONE + "/rollback",
    errors=(*_SPLIT_ERRORS, errors.GenerationNotFound),
    example={"to_generation": 1, "idempotency_key": "rollback-17"},
    role=Role.OPERATOR,
)
async def rollback(
    call: Call, env: str, d: str, body: RollbackBody, query: TenantQuery
) -> SplitView:
    """Route as an earlier generation did, under a new generation."""
    split = await call.engine.deployments.rollback(
        named(call, env, d, query),
        to_generation=body.to_generation,
        idempotency_key=body.idempotency_key,
    )
    return SplitView.of(split)

"""Endpoints: where webhooks of providers arrive. Secrets go in and never come out."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.endpoints import DEFAULT_RATE, Endpoint, EndpointRef, NewEndpoint
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Cursor, Kind, Name, PageLimit, Query, Tenants, View

routes: Routes = Routes("endpoints", "Where webhooks of providers arrive, and replies leave.")

ALL = "/v1/envs/{env}/endpoints"
ONE = ALL + "/{endpoint}"

Rate = Annotated[int, Meta(ge=1, le=bounds.ENDPOINT_RATE)]
Value = Annotated[str, Meta(min_length=1, max_length=bounds.SECRET_VALUE_BYTES)]


class EndpointView(ModelView, model=Endpoint):
    """An endpoint, without the values of its secrets."""

    settings: dict[str, Any]


class EndpointPageView(View):
    """A page of endpoints, by tenant and id."""

    items: list[EndpointView]
    next_cursor: str | None


class EndpointBody(Body):
    """An endpoint: its provider, what answers, and its settings and secrets."""

    provider: Name
    tenant: Name | None = None
    #: The deployment that answers. Without one, host and path of a call decide.
    deployment: Name | None = None
    #: A conversation of workers that answers instead.
    conversation: Kind | None = None
    #: Those of the provider.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Values by name; those that are left out keep their value. They are never shown again.
    secrets: dict[str, Value] = field(default_factory=dict)
    #: The most messages per second and server.
    rate: Rate = DEFAULT_RATE


@routes.put(
    ONE,
    role=Role.OPERATOR,
    status=(200, 201),
    errors=(
        errors.EnvNotFound,
        errors.EndpointConflict,
        errors.TooManyEndpoints,
        errors.TooManySecrets,
        errors.StoreFull,
    ),
    example={"provider": "http", "deployment": "shop", "secrets": {"token": "correct horse"}},
)
async def put(call: Call, env: str, endpoint: str, body: EndpointBody) -> Answer[EndpointView]:
    """Create an endpoint, or replace one of the same tenant.

    Its id is unique in the env, because it is part of the address of its webhooks:
    `/ingress/{env}/{endpoint}`.
    """
    found, created = await call.engine.endpoints.put(
        NewEndpoint(
            id=endpoint,
            env=env,
            tenant=str(call.tenant),
            provider=body.provider,
            deployment=body.deployment,
            conversation=body.conversation,
            settings=body.settings,
            secrets=body.secrets,
            rate=body.rate,
        )
    )
    return Answer(EndpointView.of(found), 201 if created else 200)


class ListQuery(Query):
    """Whose endpoints to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get(ALL)
async def list_endpoints(call: Call, env: str, query: ListQuery) -> EndpointPageView:
    """List endpoints, without the names of their secrets."""
    page = await call.engine.endpoints.list(
        env, tenant=call.tenant, limit=query.limit, cursor=query.cursor
    )
    items = [EndpointView.of(one) for one in page.items]
    return EndpointPageView(items=items, next_cursor=page.next_cursor)


def _named(call: Call, env: str, endpoint: str, query: TenantQuery) -> EndpointRef:
    """Return the endpoint of a path; an operator need not name its tenant."""
    return EndpointRef(id=endpoint, env=env, tenant=call.identity.tenant or query.tenant)


@routes.get(ONE, errors=(errors.EndpointNotFound,))
async def describe(call: Call, env: str, endpoint: str, query: TenantQuery) -> EndpointView:
    """Read an endpoint, with the names of its secrets."""
    return EndpointView.of(await call.engine.endpoints.get(_named(call, env, endpoint, query)))


@routes.delete(
    ONE, role=Role.OPERATOR, status=204, errors=(errors.EndpointNotFound,), takes_key=True
)
async def delete(call: Call, env: str, endpoint: str, query: TenantQuery) -> None:
    """Delete an endpoint and its secrets. Replies that were not sent yet become dead."""
    await call.engine.endpoints.delete(_named(call, env, endpoint, query))

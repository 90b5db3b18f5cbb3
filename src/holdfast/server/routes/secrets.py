"""Secrets of tenants; their values go in and never come out."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.secrets import Secret
from holdfast.model.session_keys import DEFAULT_ENV
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Name, View

routes: Routes = Routes("secrets", "Secrets of tenants, which packs use and nobody reads.")

Value = Annotated[str, Meta(min_length=1, max_length=bounds.SECRET_VALUE_BYTES)]


class SecretView(ModelView, model=Secret):
    """A secret, without its value."""


class SecretPage(View):
    """The secrets of a tenant in an env, by name."""

    items: list[SecretView]


class EnvQuery(TenantQuery):
    """The tenant and the env of the secrets."""

    env: Name = DEFAULT_ENV


@routes.get("/v1/secrets")
async def list_secrets(call: Call, query: EnvQuery) -> SecretPage:
    """List the secrets of a tenant, without their values."""
    found = await call.engine.secrets.list(tenant=str(call.tenant), env=query.env)
    return SecretPage(items=[SecretView.of(secret) for secret in found])


class SecretBody(Body):
    """The value of a secret, and whose it is."""

    value: Value
    tenant: Name | None = None
    env: Name = DEFAULT_ENV


@routes.put(
    "/v1/secrets/{name}",
    role=Role.OPERATOR,
    errors=(errors.TooManySecrets, errors.StoreFull),
    example={"value": "correct horse battery staple"},
)
async def set_secret(call: Call, name: str, body: SecretBody) -> SecretView:
    """Set a secret, in place of the one before."""
    secret = await call.engine.secrets.set(name, body.value, tenant=str(call.tenant), env=body.env)
    return SecretView.of(secret)


@routes.delete(
    "/v1/secrets/{name}",
    role=Role.OPERATOR,
    status=204,
    errors=(errors.SecretNotFound,),
    takes_key=True,
)
async def delete(call: Call, name: str, query: EnvQuery) -> None:
    """Delete a secret."""
    await call.engine.secrets.delete(name, tenant=str(call.tenant), env=query.env)

"""API keys: create, list, revoke."""

from __future__ import annotations

from typing import Annotated, Any, Self

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import ApiKey, Role
from holdfast.model.sight import Payloads
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Name, PositiveMs, View

routes: Routes = Routes("keys", "API keys. The secret is shown once, when the key is created.")

Secret = Annotated[
    str, Meta(min_length=bounds.API_KEY_LEAST_CHARS, max_length=bounds.ID_CHARS, pattern="^[!-~]+$")
]


class KeyBody(Body):
    """A key to create."""

    roles: Annotated[list[Role], Meta(min_length=1)]
    #: The caller's tenant if absent. An operator key then creates another operator key.
    tenant: Name | None = None
    name: Annotated[str, Meta(max_length=bounds.API_KEY_NAME_CHARS)] = ""
    #: The key expires after this long; never if absent.
    ttl_ms: PositiveMs | None = None
    #: A secret from the caller, so that the call can be repeated; generated if absent.
    secret: Secret | None = None
    #: Which payloads it sees: all of them; all but what rules redact; or none.
    payloads: Payloads = Payloads.REDACTED


class KeyView(ModelView, model=ApiKey, hide=("digest",)):
    """An API key."""

    #: null if it may act for every tenant.
    tenant: str | None
    roles: list[str]

    @classmethod
    def of(cls, value: ApiKey, **more: Any) -> Self:
        """Show a key."""
        return cls.copy(value, roles=sorted(value.roles), **more)


class NewKeyView(KeyView):
    """A new key, with its secret."""

    #: Keep it; it is not shown again.
    secret: str


class KeyPage(View):
    """Keys, oldest first."""

    items: list[KeyView]
    next_cursor: str | None = None


@routes.post(
    "/v1/keys",
    role=Role.ADMIN,
    status=201,
    errors=(errors.TooManyKeys, errors.StoreFull),
    example={"roles": ["submitter"], "name": "the web shop", "ttl_ms": 7776000000},
)
async def create(call: Call, body: KeyBody) -> Answer[NewKeyView]:
    """Create a key.

    A key of one tenant can create keys only for that tenant. An operator key without `tenant`
    creates another operator key.
    """
    tenant = body.tenant if call.identity.tenant is None else call.tenant
    key, secret = await call.engine.api_keys.create(
        roles=body.roles,
        tenant=tenant,
        name=body.name,
        ttl_ms=body.ttl_ms,
        secret=body.secret,
        payloads=body.payloads,
    )
    call.services.identities.forget(key.id)
    view = NewKeyView.of(key, secret=secret)
    return Answer(view, 201, {"Cache-Control": "no-store"})


@routes.get("/v1/keys", role=Role.ADMIN)
async def list_keys(call: Call) -> KeyPage:
    """List keys, including those that ended in the last 30 days. A tenant's admin sees its own."""
    keys = await call.engine.api_keys.list(tenant=call.identity.tenant)
    return KeyPage(items=[KeyView.of(key) for key in keys])


@routes.delete("/v1/keys/{key}", role=Role.ADMIN, status=204, errors=(errors.KeyNotFound,))
async def revoke(call: Call, key: str) -> None:
    """Revoke a key. Every server refuses it within 5 s."""
    await call.engine.api_keys.revoke(key, tenant=call.identity.tenant)
    call.services.identities.forget(key)

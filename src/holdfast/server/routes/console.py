"""Who the caller is, and sessions of the console: log in, log out, choose a tenant."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Self

from msgspec import Meta
from msgspec.structs import replace

from holdfast import errors
from holdfast.model import bounds, checks
from holdfast.model.audit import AuditLog
from holdfast.model.callers import MOST_TENANTS, Access, Caller
from holdfast.server.auth import console_sessions, shown
from holdfast.server.auth.identity import Identity
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes, Scope
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Name, View

routes: Routes = Routes("console", "Who the caller is, and sessions of the console.")

_OPEN = (
    "This server has no API keys: everybody on this machine acts as the operator. "
    "Create one with `holdfast keys create --role admin`."
)
_SMALL = 4_096
_SESSION: dict[str, Any] = {
    "scope": Scope.PUBLIC,
    "most_bytes": _SMALL,
    "audit": AuditLog.CONTROL,
    "changes_store": False,
}
_OUTSIDE = (errors.Forbidden, errors.RateLimited)
_ERRORS = (*_OUTSIDE, errors.Unauthorized, errors.StoreUnavailable)


class CallerView(ModelView, model=Caller):
    """Who the caller is, and what it may see and do."""

    roles: list[str]

    @classmethod
    def of(cls, value: Caller) -> Self:
        """Show a caller."""
        return cls.copy(value, roles=sorted(value.roles))


@routes.get("/v1/me")
async def me(call: Call) -> CallerView:
    """Read who you are: your key, tenant, roles, the tenants you may see, and this server."""
    return CallerView.of(await _caller(call, call.identity))


class LoginBody(Body):
    """The key to act with."""

    key: Annotated[str, Meta(min_length=1, max_length=bounds.ID_CHARS)]


@routes.post("/console/login", example={"key": "hf_..."}, errors=_ERRORS, **_SESSION)
async def log_in(call: Call, body: LoginBody) -> Answer[CallerView]:
    """Start a session of the console with an API key.

    The session is a cookie that scripts of pages cannot read. It ends after 12 hours, or with its
    key. A call with the cookie acts with the roles of the key, if it comes from a page of this
    server; a call other than GET also needs the header `X-Holdfast-Console`.
    """
    console_sessions.refuse_other_pages(call.request)
    identity = await call.services.identities.of_secret(call.request, body.key.strip())
    return await _answer(call, identity, None)


class TenantBody(Body):
    """The tenant to act for; null for all."""

    tenant: Name | None = None


@routes.post("/console/tenant", example={"tenant": "acme"}, errors=_ERRORS, **_SESSION)
async def choose_tenant(call: Call, body: TenantBody) -> Answer[CallerView]:
    """Narrow the session of an operator to one tenant, or widen it again.

    A narrowed session sees and changes only what belongs to the tenant, like a key of that tenant
    with the same roles.
    """
    identity = await call.services.identities.of(call.request)
    if identity.session is None:
        raise errors.Unauthorized("there is no session of the console: log in first")
    if identity.key_tenant is not None and body.tenant != identity.key_tenant:
        raise errors.Forbidden("this needs an API key that belongs to no tenant")
    named = None if body.tenant is None else checks.name("tenant", body.tenant)
    return await _answer(call, identity, named)


class LoggedOutView(View):
    """The status of the session."""

    status: str


@routes.post("/console/logout", errors=_OUTSIDE, **_SESSION)
async def log_out(call: Call) -> Answer[LoggedOutView]:
    """End the session of the browser: it forgets its cookie."""
    console_sessions.refuse_other_pages(call.request)
    forget = console_sessions.no_cookie(secure=_is_secure(call))
    return Answer(LoggedOutView(status="logged_out"), 200, {"Set-Cookie": forget})


async def _answer(call: Call, identity: Identity, tenant: str | None) -> Answer[CallerView]:
    """Answer with the caller and the cookie of its session; an open server needs none."""
    identities = call.services.identities
    headers = {}
    if identity.key is not None:
        session = console_sessions.begin(identity.key, await identities.now_ms(), tenant)
        if identity.session is not None:
            # Only the key begins another 12 hours.
            session = replace(session, until_ms=identity.session.until_ms)
        text = console_sessions.cookie(session, await identities.ring(), secure=_is_secure(call))
        headers["Set-Cookie"] = text
        identity = identity.within(session)
    call.identity = identity
    shown.show_to(identity.tenant)
    return Answer(CallerView.of(await _caller(call, identity)), 200, headers)


def _is_secure(call: Call) -> bool:
    return str(call.request.url.scheme) == "https"


async def _caller(call: Call, identity: Identity) -> Caller:
    settings, api_keys = call.services.settings, call.engine.api_keys
    tenants = (identity.key_tenant,) if identity.key_tenant else await api_keys.tenants()
    is_open = await call.services.identities.is_open()
    chat = ("web_chat",) if settings.web_chats else ()
    crash = ("crash",) if settings.may_crash else ()
    return Caller(
        key=identity.key,
        name=identity.name,
        tenant=identity.tenant,
        key_tenant=identity.key_tenant,
        roles=tuple(identity.roles),
        payloads=identity.payloads,
        operator=identity.tenant is None,
        tenants=tenants[:MOST_TENANTS],
        more_tenants=len(tenants) > MOST_TENANTS,
        features=(*await api_keys.features(), *chat, *crash),
        version=version("holdfast"),
        dev=settings.dev,
        access=Access.OPEN if is_open else Access.KEYED,
        session_expires_at=identity.session.expires_at if identity.session else None,
        banner=_OPEN if is_open else None,
    )

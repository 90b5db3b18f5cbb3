"""Waitpoints, for operators: the inbox, tokens, and ending a wait."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast import errors
from holdfast.model import bounds, names
from holdfast.model.api_keys import Role
from holdfast.model.audit import AuditLog
from holdfast.model.waitpoints import parse_waitpoint_id
from holdfast.server.auth import shown
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Answer, Bare, Routes
from holdfast.server.views.executions import StateView
from holdfast.server.views.fields import Body, Cursor, PageLimit, Query, Tenants, View, payload
from holdfast.server.views.paging import PageQuery
from holdfast.server.views.waitpoints import (
    InboxPage,
    InboxView,
    SignalPage,
    SignalView,
    WaitpointPage,
    WaitpointView,
)

routes: Routes = Routes("waitpoints", "Where executions wait for people and systems.")


@routes.get("/v1/executions/{id}/waitpoints", owner=EXECUTION)
async def list_waitpoints(call: Call, id: str, query: PageQuery) -> WaitpointPage:
    """List the waitpoints of an execution, without their tokens."""
    points, more = query.part(await call.engine.waitpoints.of(id))
    return WaitpointPage(items=[WaitpointView.of(point) for point in points], next_cursor=more)


@routes.get("/v1/executions/{id}/signals", owner=EXECUTION)
async def list_signals(call: Call, id: str) -> SignalPage:
    """List the signals of an execution with their effects, oldest first."""
    signals = await call.engine.waitpoints.signals(id)
    return SignalPage(items=[SignalView.of(signal) for signal in signals])


class TokenQuery(Query):
    """Whose token to read."""

    #: One of the answerers of a personal waitpoint.
    person: Annotated[str, Meta(max_length=bounds.ID_CHARS)] = ""


class TokenView(View):
    """The token of a waitpoint. Anyone who has it can answer."""

    token: str
    kid: str
    fingerprint: str


@routes.get(
    "/v1/executions/{id}/waitpoints/{wp}/token",
    role=(Role.WORKER, Role.OPERATOR),
    owner=EXECUTION,
    errors=(
        errors.WaitpointNotFound,
        errors.WaitpointClosed,
        errors.SignalNotAllowed,
        errors.StoreFull,
        *CHANGING,
    ),
    audit=AuditLog.CONTROL,
    # The token opens the question, which has payloads.
    bare=Bare.EXACT,
)
async def read_token(call: Call, id: str, wp: str, query: TokenQuery) -> Answer[TokenView]:
    """Read the token of a waitpoint, signed with the current key.

    The history of the execution and the audit log record who read it. If the execution asks for
    more of a budget at the waitpoint, only callers who may raise its limit can read the token. The
    token of a person is for the workers that send it: an operator cannot answer as that person.
    """
    _check_of(id, wp)
    if query.person and not call.identity.may((Role.WORKER,)):
        raise errors.Forbidden(
            f"the token of a person needs an API key with the role {Role.WORKER}"
        )
    await _check_may_raise(call, id, wp)
    token = await call.engine.waitpoints.token(wp, reader=_who(call), person=query.person)
    view = TokenView(token=token.reveal(), kid=token.kid, fingerprint=token.fingerprint)
    return Answer(view, 200, {"Cache-Control": "no-store"})


class ClosedView(View):
    """A closed waitpoint."""

    id: str
    state: str
    #: resumed, expired, revoked, ended.
    why: str


@routes.post(
    "/v1/executions/{id}/waitpoints/{wp}/revoke",
    role=Role.OPERATOR,
    owner=EXECUTION,
    errors=(errors.WaitpointNotFound,),
)
async def revoke(call: Call, id: str, wp: str) -> ClosedView:
    """Close a waitpoint. Its token becomes invalid, and the wait continues without it."""
    _check_of(id, wp)
    why = await call.engine.waitpoints.revoke(wp)
    return ClosedView(id=shown.own(wp), state="closed", why=why)


class ResumeBody(Body):
    """The payload that the execution gets instead of an answer."""

    payload: Raw | UnsetType = UNSET


@routes.post(
    "/v1/executions/{id}/resume",
    role=Role.OPERATOR,
    owner=EXECUTION,
    errors=(errors.NotSuspended, errors.StoreFull),
    example={"payload": {"decision": "go"}},
)
async def resume(call: Call, id: str, body: ResumeBody) -> StateView:
    """Resume a suspended execution. It gets a signal named `resume`."""
    data = payload("payload", body.payload, UNSET)
    state = await call.engine.waitpoints.resume(id, data, identity=_who(call))
    return StateView(state=state)


class InboxQuery(Query):
    """Whose inbox to read."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get("/v1/waitpoints", query_example={"limit": "10"})
async def inbox(call: Call, query: InboxQuery) -> InboxPage:
    """List the waitpoints that can be answered, oldest first."""
    page = await call.engine.waitpoints.inbox(call.tenant, limit=query.limit, cursor=query.cursor)
    items = [InboxView.of_item(item) for item in page.items]
    return InboxPage(items=items, next_cursor=page.next_cursor)


def _check_of(execution_id: str, waitpoint: str) -> None:
    """Check that a waitpoint belongs to the execution whose owner was checked."""
    try:
        owner, _ = parse_waitpoint_id("waitpoint", waitpoint)
    except errors.InvalidInput:
        owner = ""
    if owner != execution_id:
        message = f"execution {execution_id} has no waitpoint {waitpoint}"
        raise errors.WaitpointNotFound(message, id=waitpoint)


async def _check_may_raise(call: Call, execution_id: str, waitpoint: str) -> None:
    """Raise Forbidden if an answer would raise a limit that the caller may not change."""
    identity = call.identity
    try:
        points = await call.engine.waitpoints.of(execution_id)
    except errors.ExecutionNotFound:
        # The next call answers that the waitpoint does not exist.
        return
    asks = next((point.asks for point in points if point.id == waitpoint), None)
    if asks is None:
        return
    if not identity.may((Role.OPERATOR,)):
        message = f"the answer raises budget {asks.budget}: this needs an API key with the role "
        raise errors.Forbidden(f"{message}{Role.OPERATOR}")
    if identity.tenant not in {None, names.parse(asks.budget)[0]}:
        raise errors.Forbidden("the answer raises a budget that belongs to another tenant")


def _who(call: Call) -> str:
    """Return the name under which the history records the caller."""
    return call.identity.key or "operator"

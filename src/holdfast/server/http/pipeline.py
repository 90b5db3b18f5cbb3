"""The pipeline that every call of every route passes through.

In order: authentication, role, rate, tenant and owner, body and query, the handler; then the
answer, the audit log and the metrics.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from holdfast import tracing
from holdfast.errors import (
    Forbidden,
    HoldfastError,
    InternalError,
    InvalidInput,
    Malformed,
    MethodNotAllowed,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from holdfast.model import bounds
from holdfast.model.audit import AuditEntry, AuditLog
from holdfast.outages import level
from holdfast.server.auth import owners, shown
from holdfast.server.auth.identity import NOBODY
from holdfast.server.http import problems
from holdfast.server.http.call import Call, Services
from holdfast.server.http.connections import BODY
from holdfast.server.http.declare import JSON, Answer, Route, Scope
from holdfast.server.http.incoming import BODY_TIMEOUT_S, Incoming
from holdfast.server.http.prepared import Prepared
from holdfast.server.http.repeating import recognised
from holdfast.server.http.reply import Reply
from holdfast.server.views.invalid import misfit
from holdfast.store.actors import act_as

log: logging.Logger = logging.getLogger(__name__)

#: No valid name is longer; the audit log truncates longer ones.
_SHOWN = 2 * bounds.ID_CHARS
#: Codes of calls that the store refused as a whole.
_CHANGED_NOTHING = (StoreUnavailable.code, StoreReadOnly.code, StoreFull.code)
_UNKNOWN_ERROR = "the server failed; find the request id in its log"


class Pipeline:
    """All methods of one path."""

    def __init__(self, services: Services, routes: Mapping[str, Route]) -> None:
        self._services = services
        self._routes = routes
        self._prepared = {route: Prepared(route) for route in routes.values()}

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer a call."""
        request = Request(scope, receive)
        # The GET handler answers HEAD; the body is not sent.
        route = self._routes.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            allowed = ", ".join(sorted(self._routes))
            response = problems.response(MethodNotAllowed(f"this path supports only {allowed}"))
            response.headers["Allow"] = allowed
        else:
            response = await self._answer(request, route)
        await response(scope, receive, send)

    async def _answer(self, request: Request, route: Route) -> Response:
        started = time.perf_counter()
        call = Call(
            services=self._services,
            request=request,
            route=route,
            id=request.scope["holdfast.request_id"],
            identity=NOBODY,
        )
        outcome = self._traced if tracing.is_set_up() else self._outcome
        response = await outcome(call)
        took = time.perf_counter() - started
        self._services.metrics.answered(route, response.status_code, took)
        if log.isEnabledFor(logging.DEBUG):
            status = response.status_code
            log.debug("%s %s: %d", route.method, route.path, status, extra=call.about)
        return response

    async def _traced(self, call: Call) -> Response:
        route = call.route
        with tracing.answering(route.method, route.path, call.request.headers) as said:
            response = await self._outcome(call)
            said[tracing.STATUS] = response.status_code
            said |= {f"holdfast.{name}": value for name, value in call.about.items()}
        return response

    async def _outcome(self, call: Call) -> Response:
        """Return the answer, even after an error, once the audit log has it."""
        route = call.route
        code: str | None = None
        try:
            response = await self._pass(call)
        except HoldfastError as error:
            code = error.code
            response = problems.response(error, route.status_of(type(error)), call.veil)
        except ClientDisconnect:
            code, response = "disconnected", Response(status_code=400)
        except Exception:
            log.exception("%s %s failed", route.method, route.path, extra=call.about)
            code, response = (
                InternalError.code,
                problems.response(InternalError(_UNKNOWN_ERROR)),
            )
        await self._write_down(call, response.status_code, code)
        return response

    async def _pass(self, call: Call) -> Response:
        route, services = call.route, self._services
        if route.scope is not Scope.PUBLIC:
            identity = await services.identities.of(call.request)
            services.rate.take(identity.key or "")
            # Only from here on: a call over the rate must cost the store nothing, not even a log.
            call.identity = identity
            shown.show_to(identity.tenant)
            if not call.identity.may(route.roles):
                needed = " or ".join(route.roles)
                raise Forbidden(f"this needs an API key with the role {needed}")
            if route.scope is Scope.SYSTEM and call.identity.tenant is not None:
                raise Forbidden("this needs an API key that belongs to no tenant")
        elif route.reads_body:
            call.count_address()
        given = call.request.scope["path_params"] if route.params else {}
        arguments: dict[str, Any] = {name: given[name] for name in route.params}
        if route.owner is None:
            return await self._handle(call, arguments)
        async with owners.checked(call, route.owner, arguments):
            return await self._handle(call, arguments)

    async def _handle(self, call: Call, arguments: dict[str, Any]) -> Response:
        route, request = call.route, call.request
        prepared = self._prepared[route]
        query = body = None
        asks = request.scope["query_string"]
        if route.query is not None:
            make = None if asks else prepared.no_query
            query = _query(request, route) if make is None else make()
            if prepared.takes_query:
                arguments["query"] = query
        elif asks:
            _refuse_query(request, route)
        if prepared.is_streamed:
            arguments["body"] = Incoming(request, route.most_bytes)
        elif prepared.reads_body:
            data = await _read(request, route.most_bytes)
            decoder = prepared.decoder
            body = data if decoder is None else _decoded(decoder, data)
            if prepared.takes_body:
                arguments["body"] = body
        if route.scope is Scope.TENANT:
            named = arguments.get("tenant") or _named_tenant(query, body)
            find = call.tenant_listed if route.method == "GET" else call.tenant_named
            call.tenant = find(named)
        call.veil = await self._services.veils.of(call, arguments.get("id"))
        act_as(call.identity.key or "")
        with recognised(call):
            return _encoded(call, await route.handler(call, **arguments))

    async def _write_down(self, call: Call, status: int, code: str | None) -> None:
        """Append to the audit log. If that fails, write the entry to the process's log."""
        route = call.route
        if route.audit is None or not call.audited or call.identity is NOBODY:
            return
        entry = AuditEntry(
            key=call.identity.key,
            tenant=call.tenant or call.identity.tenant,
            address=call.address,
            method=route.method,
            route=route.path,
            target={k: text[:_SHOWN] for k, text in call.request.scope["path_params"].items()},
            request=call.id,
            status=status,
            code=code,
        )
        try:
            # Forbidden calls must not push permitted ones out of the log.
            log_of = AuditLog.CALLS if code == Forbidden.code else route.audit
            await call.engine.audit.append(log_of, entry)
        except HoldfastError as error:
            # A call that failed with the outage changed nothing, and the outage is logged itself.
            changed_nothing = code in _CHANGED_NOTHING
            urgency = level(error) if changed_nothing else logging.ERROR
            text = msgspec.json.encode(entry).decode()
            log.log(urgency, "not in the audit log (%s): %s", error, text)


async def _read(request: Request, most: int) -> bytes:
    """Read a body, up to the limit of its route."""
    arrived: bytes | None = request.scope.get(BODY)
    if arrived is not None and len(arrived) <= most:
        return arrived
    incoming = Incoming(request, most, timeout_s=BODY_TIMEOUT_S)
    chunks = [chunk async for chunk in incoming.pieces()]
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _decoded(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    try:
        # Payloads are passed on unchanged, so the whole body must be valid text.
        str(data, "utf-8")
        return decoder.decode(data or b"{}")
    except msgspec.ValidationError as error:
        raise misfit(error, decoder.type, "body") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"the body is not JSON in UTF-8: {error}", field="body") from error
    except RecursionError as error:
        raise InvalidInput("body: is nested too deeply", field="body") from error


def _query(request: Request, route: Route) -> Any:
    given = _parameters(request, route)
    values = dict(given)
    if len(values) != len(given):
        raise InvalidInput("query: a parameter is given twice", field="query")
    if route.raw:
        return values
    try:
        query = msgspec.convert(values, route.query, strict=False)
    except msgspec.ValidationError as error:
        raise misfit(error, route.query, "query") from error
    for name in values:
        if getattr(query, name) is None:
            raise InvalidInput(f"{name}: cannot be null: omit it", field=name)
    return query


def _refuse_query(request: Request, route: Route) -> None:
    for name, _ in _parameters(request, route):
        raise InvalidInput(f"{name}: is not a known parameter", field=name)
    if not request.query_params:
        raise InvalidInput("query: is not a known parameter", field="query")


def _parameters(request: Request, route: Route) -> list[tuple[str, str]]:
    """Return the parameters of the query, without the tenant of the object in the path."""
    given = request.query_params.multi_items()
    return [pair for pair in given if route.owner is None or pair[0] != owners.TENANT]


def _named_tenant(*sources: Any) -> str | None:
    for source in sources:
        named = getattr(source, "tenant", None)
        if isinstance(named, str):
            return named
    return None


def _encoded(call: Call, answer: Any) -> Response:
    route, veil = call.route, call.veil
    status = route.statuses[0]
    headers: Mapping[str, str] | None = None
    if isinstance(answer, Response):
        return answer if route.bare is None else veil.over_bare(answer)
    if isinstance(answer, Answer):
        status, headers, answer = answer.status, answer.headers, answer.body
    if answer is None:
        return Response(status_code=status, headers=headers)
    data = msgspec.json.encode(veil.over(answer))
    return Reply(data, status) if not headers else Response(data, status, headers, media_type=JSON)

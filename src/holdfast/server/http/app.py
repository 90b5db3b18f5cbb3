"""The HTTP application: routes over an engine."""

from __future__ import annotations

import re
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.engine import Engine
from holdfast.engine.ingress import Ingress
from holdfast.errors import HoldfastError
from holdfast.model.endpoints import Endpoint
from holdfast.model.ids import new_id
from holdfast.server.auth.identity import NEW_KEYS, Identities
from holdfast.server.auth.throttle import Open, Rate
from holdfast.server.auth.veils import Veils
from holdfast.server.chat.doors import Doors
from holdfast.server.claimers import Claimers
from holdfast.server.console import crashing
from holdfast.server.draining import Draining
from holdfast.server.http import problems
from holdfast.server.http.call import Services
from holdfast.server.http.declare import Route
from holdfast.server.http.headers import headers
from holdfast.server.http.paths import Paths
from holdfast.server.http.pipeline import Pipeline
from holdfast.server.http.reply import SHARED
from holdfast.server.metrics import Metrics
from holdfast.server.routes import all_routes
from holdfast.server.settings import ServerSettings

#: Files that a visitor may upload at once.
UPLOADS = 3
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}\Z")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % pair for pair in headers])


_LINES = _lines(_HEADERS)


def make_services(engine: Engine, settings: ServerSettings) -> Services:
    """Return the services that all calls of a server share."""
    rate = Rate(settings.rate)

    def admit(endpoint: Endpoint, messages: int) -> None:
        name = f"endpoint {endpoint.env}|{endpoint.id}"
        rate.take(name, messages, per_second=endpoint.rate)

    return Services(
        engine=engine,
        settings=settings,
        identities=Identities(
            engine,
            open_access=settings.is_loopback,
            # A server whose callers have no rate has none for keys, either.
            new_keys=NEW_KEYS if settings.rate else 0,
        ),
        claimers=Claimers(engine),
        draining=Draining(engine),
        metrics=Metrics(settings.shared_metrics),
        rate=rate,
        ingress=Ingress(engine, admit),
        waits=Open("waiting calls", settings.most_waits),
        tails=Open("live streams", settings.most_tails),
        doors=Doors(
            settings.web_chats,
            engine.opened_endpoints,
            origins=settings.web_chat_origins,
            files=settings.web_chat_files,
        ),
        visits=Rate(settings.web_chat_rate),
        uploads=Open("uploads", UPLOADS),
        veils=Veils(engine),
    )


def make_app(services: Services) -> ASGIApp:
    """Return the application, which passes each call to the endpoint of its path."""
    paths: Paths[ASGIApp] = Paths()
    for path, routes in _by_path().items():
        paths.add(path, Pipeline(services, routes))
    if services.settings.may_crash:
        (crash,) = crashing.routes.routes
        paths.add(crash.path, Pipeline(services, {crash.method: crash}))

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint: ASGIApp
        try:
            endpoint, scope["path_params"] = paths.find(scope["raw_path"])
        except HoldfastError as error:
            endpoint = problems.response(error)
        await endpoint(scope, receive, send)

    return Envelope(dispatch, services.settings)


def _by_path() -> dict[str, dict[str, Route]]:
    paths: dict[str, dict[str, Route]] = {}
    for route in all_routes():
        paths.setdefault(route.path, {})[route.method] = route
    return paths


class Envelope:
    """Handles what all calls share: path, request id, security headers, CORS."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._origins = frozenset(origin.encode() for origin in settings.cors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on."""
        sent = headers(scope)
        given = sent.get(b"x-request-id", b"").decode("latin-1")
        request_id = given if _REQUEST_ID.match(given) else new_id()
        scope["holdfast.request_id"] = request_id
        origin = sent.get(b"origin")
        added = [(b"x-request-id", request_id.encode())]
        if origin in self._origins:
            added += [(b"access-control-allow-origin", origin), (b"vary", b"Origin")]
        scope[SHARED] = _LINES + _lines(added)

        async def send_enveloped(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                missing = [pair for pair in (*_HEADERS, *added) if pair[0] not in present]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        if origin in self._origins and scope["method"] == "OPTIONS":
            await _preflight()(scope, receive, send_enveloped)
            return
        await self._app(scope, receive, send_enveloped)


def _preflight() -> Response:
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
            "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, "
            "Last-Event-ID, X-Request-Id, traceparent",
            "Access-Control-Max-Age": "600",
        },
    )

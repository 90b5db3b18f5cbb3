"""The OpenAPI document, and a page to read it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from holdfast.server.http import openapi
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.http.page import page


def about(nouns: Sequence[Routes]) -> Routes:
    """Return the routes that document these routes and themselves."""
    routes = Routes("docs", "This document.")

    @functools.cache
    def document() -> bytes:
        return msgspec.json.encode(openapi.document([*nouns, routes]))

    @routes.get("/openapi.json", scope=Scope.PUBLIC)
    async def contract(call: Call) -> Response:  # noqa: ARG001 - the same for all
        """Return the contract as OpenAPI 3.1."""
        return Response(document(), media_type="application/json")

    @routes.get("/", scope=Scope.PUBLIC, status=307, media_type="text/plain")
    async def home(call: Call) -> Response:  # noqa: ARG001 - the same for all
        """Redirect people to the documentation page."""
        return Response("see /docs\n", 307, {"Location": "/docs"}, media_type="text/plain")

    @routes.get("/docs", scope=Scope.PUBLIC, media_type="text/html")
    async def read(call: Call) -> Response:  # noqa: ARG001 - the same for all
        """Show the documentation page."""
        return page("docs.html")

    return routes

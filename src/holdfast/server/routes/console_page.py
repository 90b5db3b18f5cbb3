"""The page of the web console. Each of its addresses shows the same page, which reads the rest."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from holdfast.server.console.page import page as show
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope

routes: Routes = Routes("console_page", "The web console.")

_SHOWN: dict[str, Any] = {"scope": Scope.PUBLIC, "media_type": "text/html"}


@routes.get("/console", scope=Scope.PUBLIC, status=307, media_type="text/plain")
async def enter(call: Call) -> Response:  # noqa: ARG001 - the same for all
    """Redirect to the console."""
    # Relative, so that it works behind a prefix.
    return Response("see console/\n", 307, {"Location": "console/"}, media_type="text/plain")


@routes.get("/console/", **_SHOWN)
async def home(call: Call) -> Response:  # noqa: ARG001 - the same for all
    """Show the console."""
    return show(1)


@routes.get("/console/{page}", **_SHOWN)
async def noun(call: Call, page: str) -> Response:  # noqa: ARG001 - the script reads the address
    """Show a page of the console."""
    return show(1)


@routes.get("/console/{page}/{id}", **_SHOWN)
async def item(call: Call, page: str, id: str) -> Response:  # noqa: ARG001 - as above
    """Show the page of one thing."""
    return show(2)


@routes.get("/console/{page}/{id}/{part}", **_SHOWN)
async def part(call: Call, page: str, id: str, part: str) -> Response:  # noqa: ARG001 - as above
    """Show a part of a thing, or a thing of an environment."""
    return show(3)

"""The page of the web console. Each of its addresses shows the same page, which reads the rest."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from holdfast.server.console.page import page as show
from holdfast.server.http.call import Call
from holdfast.server.http.declare import AnyQuery, Routes, Scope

routes: Routes = Routes("console_page", "The web console.")

#: Filters are parameters of the address; the page reads them and says which it does not know.
_PAGE: dict[str, Any] = {"scope": Scope.PUBLIC, "media_type": "text/html"}


@routes.get("/console", scope=Scope.PUBLIC, status=307, media_type="text/plain")
async def enter(call: Call) -> Response:  # noqa: ARG001 - the same for all
    """Redirect to the console."""
    # Relative, so that it works behind a prefix.
    return Response("see console/\n", 307, {"Location": "console/"}, media_type="text/plain")


@routes.get("/console/", **_PAGE)
async def home(call: Call, query: AnyQuery) -> Response:  # noqa: ARG001 - the same for all
    """Show the overview."""
    return show(1, None if query else "")


@routes.get("/console/{page}", **_PAGE)
async def things(call: Call, page: str, query: AnyQuery) -> Response:  # noqa: ARG001 - as above
    """Show a page of the console, such as the list of runs."""
    return show(1, None if query else page)


@routes.get("/console/{page}/{id}", **_PAGE)
async def thing(call: Call, page: str, id: str, query: AnyQuery) -> Response:  # noqa: ARG001
    """Show the page of one thing."""
    return show(2)


@routes.get("/console/{page}/{env}/{id}", **_PAGE)
async def thing_of_env(
    call: Call,  # noqa: ARG001 - as above
    page: str,  # noqa: ARG001
    env: str,  # noqa: ARG001
    id: str,  # noqa: ARG001
    query: AnyQuery,  # noqa: ARG001
) -> Response:
    """Show the page of one thing of an environment, such as a deployment."""
    return show(3)

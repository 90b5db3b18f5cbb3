"""The page on which a person answers a waitpoint."""

from __future__ import annotations

from starlette.responses import Response

from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.http.page import page

routes: Routes = Routes("answer", "The page for people who received a link.")


@routes.get("/answer/{waitpoint}", scope=Scope.PUBLIC, media_type="text/html")
async def show(call: Call, waitpoint: str) -> Response:  # noqa: ARG001 - the page itself reads it
    """Show the page. The token is in the fragment of the link, which never reaches a server.

    The page is the same for every waitpoint, so that it reveals nothing about any of them.
    """
    return page("answer.html")

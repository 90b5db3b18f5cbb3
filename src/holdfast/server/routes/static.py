"""Scripts and styles of pages."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from holdfast.errors import NotFound
from holdfast.server.http import static
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import Query

routes: Routes = Routes("static", "Scripts and styles of pages.")


class FileQuery(Query):
    """Which version."""

    #: The digest that the page names; browsers then keep the file.
    v: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")] | None = None


@routes.get("/static/{file}", scope=Scope.PUBLIC, errors=(NotFound,), media_type="text/javascript")
async def read(call: Call, file: str, query: FileQuery) -> Response:
    """Read a script or a style of a page."""
    return static.find(file).response(call.request, query.v)

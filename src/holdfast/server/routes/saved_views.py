"""Saved views of the console, for each API key."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.saved_views import SavedView
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Name, View

routes: Routes = Routes("saved_views", "Filters under a name, for each API key.")


class SavedViewBody(Body):
    """A page of the console with its filters."""

    #: The page, such as `runs`.
    page: Name
    #: The filters, as the query of an address.
    query: Annotated[str, Meta(max_length=bounds.SAVED_VIEW_CHARS)] = ""


class SavedViewView(ModelView, model=SavedView):
    """A page of the console with its filters."""


class SavedViewPage(View):
    """Views by name."""

    items: list[SavedViewView]
    next_cursor: str | None = None


@routes.get("/v1/views")
async def list_views(call: Call) -> SavedViewPage:
    """List the views of the caller's API key.

    Callers of an open server share theirs. There are at most 100.
    """
    found = await call.engine.saved_views.list()
    return SavedViewPage(items=[SavedViewView.of(view) for view in found])


_CHANGING = (*CHANGING, errors.StoreFull)


@routes.put(
    "/v1/views/{name}",
    errors=(errors.TooManyViews, *_CHANGING),
    example={"page": "runs", "query": "state=failed&since=24h"},
)
async def put(call: Call, name: str, body: SavedViewBody) -> SavedViewView:
    """Save a view, or replace the one of this name. Every role may."""
    view = SavedView(name=name, page=body.page, query=body.query)
    return SavedViewView.of(await call.engine.saved_views.put(view))


@routes.delete("/v1/views/{name}", status=204, errors=_CHANGING)
async def delete(call: Call, name: str) -> None:
    """Remove a view."""
    await call.engine.saved_views.delete(name)

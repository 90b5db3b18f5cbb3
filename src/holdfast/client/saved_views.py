"""Saved views over HTTP."""

from __future__ import annotations

import builtins
from typing import final

import msgspec
from typing_extensions import override

from holdfast.api.saved_views import SavedViews
from holdfast.client.http import Http, path
from holdfast.model import checks
from holdfast.model.saved_views import SavedView, check_view_name


@final
class RemoteSavedViews(SavedViews):
    """Operations on saved views."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def list(self) -> builtins.list[SavedView]:
        reply = await self._http.get("/v1/views")
        return msgspec.convert(reply["items"], builtins.list[SavedView])

    @override
    async def put(self, view: SavedView) -> SavedView:
        checks.instance("view", view, SavedView)
        body = {"page": view.page, "query": view.query}
        return msgspec.convert(await self._http.put(path("views", view.name), body), SavedView)

    @override
    async def delete(self, name: str) -> None:
        await self._http.delete(path("views", check_view_name(name)))

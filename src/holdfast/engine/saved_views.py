"""Saved views of a store: one object for each API key."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable
from typing import final

import msgspec
from typing_extensions import override

from holdfast.api import saved_views
from holdfast.errors import TooManyViews, VersionConflict
from holdfast.model import bounds, checks
from holdfast.model.saved_views import SavedView, check_view_name
from holdfast.store import actors
from holdfast.store.store import Store

#: By name.
Views = dict[str, SavedView]


@final
class SavedViews(saved_views.SavedViews):
    """Operations on saved views."""

    def __init__(self, store: Store) -> None:
        self._objects = store.objects

    @override
    async def list(self) -> builtins.list[SavedView]:
        _, views = await self._read()
        return [views[name] for name in sorted(views)]

    @override
    async def put(self, view: SavedView) -> SavedView:
        checks.instance("view", view, SavedView)

        def add(views: Views) -> Views:
            if view.name not in views and len(views) >= bounds.SAVED_VIEWS:
                message = f"there are {len(views)} views already: remove one"
                raise TooManyViews(message, limit=bounds.SAVED_VIEWS)
            return {**views, view.name: view}

        await self._change(add)
        return view

    @override
    async def delete(self, name: str) -> None:
        check_view_name(name)
        await self._change(lambda views: {n: view for n, view in views.items() if n != name})

    async def _read(self) -> tuple[str, Views]:
        stored = await self._objects.get(place_of(actors.current()))
        if stored is None:
            return "", {}
        version, body = stored
        return version, msgspec.json.decode(body, type=Views)

    async def _change(self, change: Callable[[Views], Views]) -> None:
        """Replace the views, again if another call has changed them in between."""
        place = place_of(actors.current())
        while True:
            version, views = await self._read()
            changed = change(views)
            if changed == views:
                return
            with contextlib.suppress(VersionConflict):
                await self._objects.put(place, msgspec.json.encode(changed), version)
                return


def place_of(key: str) -> str:
    """Return the name of the object with the views of an API key."""
    return f"views/{key}.json"

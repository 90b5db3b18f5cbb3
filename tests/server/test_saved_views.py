"""Saved views: each API key has its own, near and over HTTP."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.client import Client
from holdfast.errors import InvalidInput
from holdfast.model.api_keys import id_of
from holdfast.model.saved_views import SavedView
from holdfast.store.actors import acting_as
from tests.server.conftest import Site

FAILED = SavedView(name="Failed today", page="runs", query="state=failed&since=24h")


async def test_each_key_has_its_own_views(site: Site) -> None:
    """A viewer may save them; they are replaced and removed by name, and go with the key."""
    keys = [await site.key("viewer"), await site.key("viewer")]
    async with Client(site.url, key=keys[0]) as ann, Client(site.url, key=keys[1]) as ben:
        assert await ann.saved_views.put(FAILED) == FAILED
        slow = SavedView(name="a/b? slow", page="runs", query="state=active")
        await asyncio.gather(ann.saved_views.put(slow), ann.saved_views.put(slow))
        assert await ann.saved_views.list() == [FAILED, slow]
        assert await ben.saved_views.list() == []
        changed = SavedView(name=FAILED.name, page="runs", query="state=expired")
        await ann.saved_views.put(changed)
        await ann.saved_views.delete(slow.name)
        await ann.saved_views.delete(slow.name)
        assert await ann.saved_views.list() == [changed]
    with acting_as(id_of(keys[0])):
        assert await site.engine.saved_views.list() == [changed]
        await site.engine.api_keys.revoke(id_of(keys[0]))
        assert await site.engine.saved_views.list() == []


async def test_views_that_are_saved_at_the_same_time_all_stay(site: Site) -> None:
    """A write that another one overtook is repeated."""
    views = [SavedView(name=f"view {number}", page="runs") for number in range(9)]
    await asyncio.gather(*(site.engine.saved_views.put(view) for view in views))
    assert await site.engine.saved_views.list() == views


@pytest.mark.parametrize(
    "fields", [{"name": ""}, {"name": "x" * 65}, {"page": "a b"}, {"query": "x" * 2001}]
)
def test_what_is_too_long_is_refused(fields: dict[str, str]) -> None:
    """Names, pages and queries have bounds."""
    with pytest.raises(InvalidInput):
        SavedView(**{"name": "n", "page": "runs", **fields})

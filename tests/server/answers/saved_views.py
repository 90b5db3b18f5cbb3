"""Ways to the answers of saved views."""

from __future__ import annotations

from holdfast.model import bounds
from holdfast.model.api_keys import id_of
from holdfast.model.saved_views import SavedView
from holdfast.store.actors import acting_as
from tests.server.answers.recipes import Stage, way
from tests.server.conftest import OURS
from tests.server.samples import Request


@way("too_many_views", "PUT /v1/views/{name}")
async def _full(stage: Stage, name: str) -> Request:
    _, secret = await stage.engine.api_keys.create(roles=["viewer"], tenant=OURS)
    with acting_as(id_of(secret)):
        for number in range(bounds.SAVED_VIEWS):
            await stage.engine.saved_views.put(SavedView(name=f"view {number}", page="runs"))
    return await stage.request(name, {"name": "one more"}, key=secret)


@way(204, "DELETE /v1/views/{name}")
async def _saved(stage: Stage, name: str) -> Request:
    _, secret = await stage.engine.api_keys.create(roles=["viewer"], tenant=OURS)
    with acting_as(id_of(secret)):
        view = await stage.engine.saved_views.put(SavedView(name="mine", page="runs"))
    return await stage.request(name, {"name": view.name}, key=secret)

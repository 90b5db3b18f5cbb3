"""Ways to the answers of workers."""

from __future__ import annotations

from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, about_nothing, way
from tests.server.conftest import THEIRS
from tests.server.samples import Request

REGISTER = "PUT /v1/workers/{instance}"

way("worker_not_found", "POST /v1/workers/{instance}/drain")(about_nothing)


@way(201, REGISTER)
async def _new(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"instance": f"w-{new_id()}"})


@way("worker_not_found", REGISTER)
async def _theirs(stage: Stage, name: str) -> Request:
    instance = f"w-{new_id()}"
    await stage.engine.workers.register(instance, worker="w", lanes=["default"], tenant=THEIRS)
    return await stage.request(name, {"instance": instance})

"""Ways to the answers of what operators do from afar: exports, rules, repair, archived results."""

from __future__ import annotations

from holdfast.archive import Archiver, open_archive
from tests.server.answers.recipes import Stage, by_example, way
from tests.server.answers.system import enabled
from tests.server.answers.writer_leases import damaged
from tests.server.conftest import OURS
from tests.server.samples import Request

EXPORT = "GET /v1/executions/{id}/export"
REPAIR = "POST /v1/writer-leases/{key}/repair"
ARCHIVED_RESULT = "GET /v1/archive/executions/{id}/result"

way("not_terminal", EXPORT)(by_example)
way("version_conflict", REPAIR)(by_example)
way(200, REPAIR)(damaged)


@way(200, EXPORT)
async def _ended(stage: Stage, name: str) -> Request:
    return await stage.request(name, {"id": await stage.ended()})


@way("result_not_ready", ARCHIVED_RESULT)
async def _archived_without_one(stage: Stage, name: str) -> Request:
    store = stage.engine.store
    await enabled(stage, name)
    made = await stage.engine.submit("work", tenant=OURS, retention_ms=0)
    await stage.engine.cancel(made.id)
    await stage.clock.tick()
    await Archiver(store, (await open_archive(store)).objects).run_once(wait_s=10)
    return await stage.request(name, {"id": made.id})

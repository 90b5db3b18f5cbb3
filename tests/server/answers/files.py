"""Ways to the answers about files of sessions."""

from __future__ import annotations

from holdfast.model.ids import new_id
from tests.server.answers.recipes import Stage, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request, conversing


@way("file_not_found", *(name for name in declaring("file_not_found") if "/v1/" in name))
async def _no_file(stage: Stage, name: str) -> Request:
    session, _ = await conversing(stage.engine, OURS)
    return await stage.request(name, {"id": session, "file": new_id()})

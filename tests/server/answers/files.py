"""Ways to the answers about files of sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from unittest import mock

import httpx

from holdfast.errors import BackendFailed
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import Entry, Stored
from holdfast.model.ids import new_id
from holdfast.model.writer_leases import Version
from tests.server.answers.chat import DOWNLOAD, UPLOAD, visiting
from tests.server.answers.recipes import Stage, declaring, way
from tests.server.conftest import OURS
from tests.server.samples import Request, conversing

READING = [name for name in declaring("file_not_found") if "/v1/" in name]


@way("file_not_found", *READING)
async def _no_file(stage: Stage, name: str) -> Request:
    session, _ = await conversing(stage.engine, OURS)
    return await stage.request(name, {"id": session, "file": new_id()})


class Broken(MemoryObjects):
    """Object storage that does not answer."""

    async def get(self, key: str) -> Stored | None:
        """Fail."""
        raise BackendFailed(f"no {key} today", maybe_done=False)

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        """Fail."""
        await self.get(prefix)
        yield Entry(prefix, 0)


class Damaged(MemoryObjects):
    """Object storage whose objects are damaged."""

    async def get(self, key: str) -> Stored | None:
        """Return something else."""
        return Stored(f"not {key}".encode(), Version("v1"))


async def _asked(stage: Stage, name: str, objects: MemoryObjects) -> httpx.Response:
    """Send a call while the files are elsewhere."""
    is_ours = name in READING
    request = await (stage.request(name) if is_ours else visiting(stage, name))
    storages = mock.AsyncMock(return_value=(objects, ()))
    with mock.patch.object(stage.engine.payloads, "storages", storages):
        return await stage.send(request)


@way("backend", *READING, UPLOAD, DOWNLOAD)
async def _broken(stage: Stage, name: str) -> httpx.Response:
    return await _asked(stage, name, Broken())


@way("invalid_record", *READING, DOWNLOAD)
async def _damaged(stage: Stage, name: str) -> httpx.Response:
    return await _asked(stage, name, Damaged())

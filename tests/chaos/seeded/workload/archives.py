"""The archive: an execution that ended is in the store or in the archive, never in neither."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

from typing_extensions import override

from holdfast.api import Engine
from holdfast.archive.archiver import Archiver, ArchiverSettings
from holdfast.archive.opening import set_archive
from holdfast.engine import Engine as NearEngine
from holdfast.errors import LeaseLost, NotFound
from holdfast.fencing import FolderObjects
from holdfast.testing.polling import wait_for
from tests.chaos.seeded.app import QUICK, RECLAIMS
from tests.chaos.seeded.history import History, Ledger, happened
from tests.chaos.seeded.workload.workload import Dump, Workload, completed, encode, records

_SETTINGS = ArchiverSettings(segment_rows=3, linger_s=0, ttl_ms=1_000)


class Archives(Workload):
    """Executions that are archived soon after their end, by clients that die like all others."""

    def __init__(self, history: History, ledger: Ledger, random: Random) -> None:
        super().__init__(history, ledger, random)
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-chaos-archive-")

    @override
    async def prepare(self, engine: NearEngine) -> None:
        await set_archive(engine.store, Path(self._folder.name).as_uri())

    @override
    async def act(self, engine: Engine, client: str) -> None:
        if isinstance(engine, NearEngine) and self.random.random() < 0.3:
            archiving = self._archiver(engine).run_once()
            await self.history.call(client, "archive", client, archiving)
            return
        key = self.new_key(client)
        fields = {"id": key, "input": encode({}), "retention_ms": 50, "check": False}
        work = engine.submit("member", **fields, retry=QUICK, max_reclaims=RECLAIMS)
        await self.history.call(client, "archived", key, work)

    def _archiver(self, engine: NearEngine) -> Archiver:
        return Archiver(engine.store, FolderObjects(self._folder.name), _SETTINGS)

    @override
    async def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        kept = records(dump)
        for key, calls in self.history.by_key("archived").items():
            archived = await self._archived(engine, key)
            if happened(calls) is True and key not in kept and archived is None:
                yield f"execution {key} was acknowledged and is lost"
            if happened(calls) is False and (key in kept or archived is not None):
                yield f"execution {key} exists, though no call created it"
            fields = kept.get(key) if archived is None else archived
            if fields is not None and (problem := completed(fields)):
                yield f"execution {key} {problem}"
        await self._archive_all(engine)
        waiting, _ = await engine.store.archives.waiting()
        if waiting:
            yield f"{waiting} executions are not archived"
        self._folder.cleanup()

    @staticmethod
    async def _archived(engine: NearEngine, key: str) -> dict[bytes, bytes] | None:
        try:
            return dict((await engine.archive.get(key)).fields)
        except NotFound:
            return None

    async def _archive_all(self, engine: NearEngine) -> None:
        async def done() -> bool:
            # On a slow machine the lease is lost now and then.
            with contextlib.suppress(LeaseLost):
                await self._archiver(engine).run_once(wait_s=10)
                return True
            return False

        await wait_for(done, timeout_s=120)

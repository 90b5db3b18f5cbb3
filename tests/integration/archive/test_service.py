"""A server archives while its store names an archive."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.archive import open_archive, set_archive, unset_archive
from holdfast.archive.archiver import Archiver, ArchiverSettings
from holdfast.archive.service import ArchiveService
from holdfast.engine import Engine, open_engine
from holdfast.errors import ExecutionNotFound
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer

SETTINGS = ArchiverSettings(poll_s=0.05, linger_s=0)


@pytest.fixture
async def engine(single_server: TestServer, tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine on the real clock whose executions are not kept after their end."""
    url = f"valkey://127.0.0.1:{single_server.port}?prefix=standing{tmp_path.name}"
    async with open_engine(url.replace("_", "").replace("-", "")) as engine:
        yield engine


@contextlib.asynccontextmanager
async def _archiving(engine: Engine) -> AsyncIterator[None]:
    running = asyncio.create_task(ArchiveService(engine.store, SETTINGS, look_s=0.05).run())
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def _ended(engine: Engine) -> str:
    made = await engine.submit("work", retention_ms=0)
    async with engine.claimer(worker="w") as claimer:
        (claim,) = await claimer.claim(1, 30_000)
    await engine.complete(claim.id, claim.lease, b"1")
    return made.id


async def test_it_begins_and_stops_with_the_setting(engine: Engine, tmp_path: Path) -> None:
    """Nothing needs to be started anew, and nothing is left behind."""
    async with _archiving(engine):
        await set_archive(engine.store, f"file://{tmp_path / 'archive'}")
        first = await _ended(engine)
        archive = await open_archive(engine.store)

        async def archived() -> bool:
            with contextlib.suppress(ExecutionNotFound):
                return bool(await archive.get(first))
            return False

        await wait_for(archived, timeout_s=20)
        await unset_archive(engine.store)
        await _ended(engine)

        async def forgotten() -> bool:
            return not (await engine.list()).items

        await wait_for(forgotten, timeout_s=20)


async def test_it_can_be_stopped_while_its_archiver_ends(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at any other moment: the setting has just changed."""
    began, ending = asyncio.Event(), asyncio.Event()

    async def archive(_: Archiver) -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            ending.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(Archiver, "run", archive)
    await set_archive(engine.store, f"file://{tmp_path / 'archive'}")
    running = asyncio.create_task(ArchiveService(engine.store, SETTINGS, look_s=0.05).run())
    await began.wait()
    await unset_archive(engine.store)
    await ending.wait()
    running.cancel()
    await asyncio.wait([running], timeout=5)
    assert running.cancelled()

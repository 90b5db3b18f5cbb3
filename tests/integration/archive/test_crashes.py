"""An archiver that is killed or stopped anywhere: the history is complete and unique afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.archive import Archive
from holdfast.engine import Engine, open_engine
from holdfast.errors import ExecutionNotFound
from holdfast.fencing import FolderObjects
from holdfast.fencing.in_store import StoreObjects
from holdfast.model.executions import NewExecution, Submitted
from holdfast.testing.polling import wait_for
from tests.acceptance.processes import ROOT

COUNT = 23
POINTS = [
    ("opened", 1),
    ("before put", 2),
    ("before commit", 1),
    ("before forget", 1),
    ("recovering", 1),
    ("half forgotten", 1),
    ("after forget", 1),
    ("before commit", 2),
]


def start(
    url: str, objects: str, name: str = "SIGKILL", point: str = "", often: int = 1
) -> subprocess.Popen[str]:
    """Start an archiver; the objects are in a folder, or in the store if that is empty."""
    module = "tests.integration.archive.archiver_process"
    return subprocess.Popen(
        [sys.executable, "-m", module, url, objects, name, point, str(often)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


async def fill(engine: Engine) -> set[str]:
    """Make executions that have ended and wait for the archive."""
    await engine.store.archives.set_url("file:///elsewhere")
    items = [NewExecution(kind="k", retention_ms=0, tenant=f"t{n % 3}") for n in range(COUNT)]
    answers = await engine.submit_many(items)
    async with engine.claimer(worker="w") as claimer:
        done = 0
        while done < COUNT:
            for claim in await claimer.claim(COUNT, 60_000):
                await engine.complete(claim.id, claim.lease, b"1")
                done += 1

    async def all_wait() -> bool:
        return (await engine.store.archives.waiting())[0] == COUNT

    await wait_for(all_wait)
    return {answer.id for answer in answers if isinstance(answer, Submitted)}


async def where(engine: Engine, archive: Archive, ids: set[str]) -> tuple[set[str], set[str]]:
    """Return which executions are in the store, and which are in the archive."""
    stored = set()
    for execution_id in ids:
        try:
            await engine.describe(execution_id)
        except ExecutionNotFound:
            continue
        stored.add(execution_id)
    return stored, {row.id async for row in archive.rows()}


@pytest.mark.timeout(120)
async def test_killed_at_each_point_nothing_is_lost_and_nothing_is_there_twice(
    real_url: str, tmp_path: Path
) -> None:
    """Nothing is forgotten before its segment is committed, nothing is committed twice."""
    async with open_engine(f"{real_url}&partitions=4") as engine:
        ids = await fill(engine)
        archive = Archive(FolderObjects(tmp_path))
        for point, often in POINTS:
            killed = start(real_url, str(tmp_path), "SIGKILL", point, often)
            killed.communicate(timeout=40)
            assert killed.returncode == -signal.SIGKILL, point
            stored, archived = await where(engine, archive, ids)
            assert stored | archived == ids, point
            count, problems = await archive.verify()
            assert (count, problems) == (len(archived), []), point
        last = start(real_url, str(tmp_path))
        assert last.communicate(timeout=40)[0].strip().isdecimal()
        assert await where(engine, archive, ids) == (set(), ids)
        assert await archive.verify() == (COUNT, [])
        stored_objects = {entry.key async for entry in archive.objects.list("objects/")}
        snapshot = await archive.manifest.read()
        assert snapshot is not None
        assert stored_objects == set(snapshot.objects)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("point", ["before commit", "before forget"])
async def test_one_that_was_stopped_and_wakes_after_a_take_over_changes_nothing(
    real_url: str, point: str
) -> None:
    """Its lease is another's; what it sends is refused, or says what is true already."""
    async with open_engine(real_url) as engine:
        ids = await fill(engine)
        archive = Archive(StoreObjects(engine.store))
        stopped = start(real_url, "", "SIGSTOP", point, 2)
        await wait_for(lambda: is_stopped(stopped.pid), timeout_s=30)
        other = start(real_url, "")
        assert other.communicate(timeout=40)[0].strip().isdecimal()
        before = await archive.manifest.read()
        assert await where(engine, archive, ids) == (set(), ids)
        os.kill(stopped.pid, signal.SIGCONT)
        answer = stopped.communicate(timeout=40)[0].strip()
        assert answer in {"stale_lease", "fenced"}
        assert await archive.manifest.read() == before
        assert await where(engine, archive, ids) == (set(), ids)
        assert await archive.verify() == (COUNT, [])


async def is_stopped(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_text()  # noqa: ASYNC240 - of the kernel, at once
    return stat.rpartition(")")[2].split()[0] == "T"

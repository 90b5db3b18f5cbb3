"""Leases between processes: a folder shared by several, and a holder that dies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from holdfast.fencing import FencedManifest, FolderObjects
from tests.acceptance.processes import ROOT

COMMITS = 12
PROCESSES = 4

_CONTENDER = """
import asyncio, sys
from holdfast.fencing import FencedManifest, FolderObjects, WriterLease

async def main(folder, me, commits):
    objects = FolderObjects(folder)
    for number in range(commits):
        async with WriterLease(objects, "shared", holder=me, ttl_ms=5_000, wait_s=40) as lease:
            writer = await FencedManifest(objects, "shared").open(lease)
            count = writer.snapshot.facts.get("count", 0)
            name = await writer.put(f"{me} {number}".encode())
            await writer.commit(add={name: {"by": me}}, facts={"count": count + 1})
            print(lease.token.generation, flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def start(folder: Path, me: str, commits: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CONTENDER, str(folder), me, str(commits)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


async def test_processes_take_turns_and_lose_nothing(tmp_path: Path) -> None:
    """Each commit of each process is there, under a token of its own."""
    running = [start(tmp_path, f"p{n}", COMMITS // PROCESSES) for n in range(PROCESSES)]
    generations = [int(line) for p in running for line in p.communicate(timeout=50)[0].split()]
    assert sorted(generations) == list(range(1, COMMITS + 1))
    found = await FencedManifest(FolderObjects(tmp_path), "shared").read()
    assert found is not None
    assert (len(found.objects), found.facts) == (COMMITS, {"count": COMMITS})


def holdfast(*args: str, folder: Path) -> tuple[int, dict[str, object]]:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast.cli", *args, "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    return run.returncode, json.loads(run.stdout or run.stderr)


def test_the_command_takes_shows_hands_over_and_releases(tmp_path: Path) -> None:
    """As an operator does it, on a folder."""
    at = ("--objects", f"file://{tmp_path}/objects")

    def lease(*args: str) -> tuple[int, dict[str, object]]:
        return holdfast("writer-lease", *args, *at, folder=tmp_path)

    code, answer = lease("show", "db/main")
    assert (code, answer["error"]["code"]) == (3, "not_found")  # type: ignore[index]
    code, taken = lease("acquire", "db/main", "--holder", "ops", "--ttl", "60s")
    assert (code, taken["token"]) == (0, {"term": 1, "generation": 1})
    code, answer = lease("acquire", "db/main", "--holder", "other")
    assert (code, answer["error"]["code"]) == (1, "held")  # type: ignore[index]
    mine = ("--holder", "ops", "--incarnation", str(taken["incarnation"]), "--token", "1.1")
    assert lease("hand-over", "db/main", "other", *mine)[0] == 0
    code, taken = lease("acquire", "db/main", "--holder", "other")
    assert (code, taken["token"]) == (0, {"term": 1, "generation": 2})
    code, answer = lease("release", "db/main", *mine)
    assert (code, answer["error"]["code"]) == (1, "stale_lease")  # type: ignore[index]
    theirs = ("--holder", "other", "--incarnation", str(taken["incarnation"]), "--token", "1.2")
    assert lease("release", "db/main", *theirs) == (0, {"key": "db/main", "released": True})
    code, shown = lease("show", "db/main")
    assert (code, shown["released"]) == (0, True)
    assert [past["ended"] for past in shown["holders"]] == ["handed_over"]  # type: ignore[attr-defined]


def test_a_lease_in_the_store_and_a_damaged_one(tmp_path: Path) -> None:
    """Without --objects it is in the store; what cannot be read is repaired by hand."""
    code, taken = holdfast("writer-lease", "acquire", "k", "--holder", "ops", folder=tmp_path)
    assert (code, taken["holder"]) == (0, "ops")
    assert holdfast("writer-lease", "show", "k", folder=tmp_path)[1]["holder"] == "ops"
    at = ("--objects", str(tmp_path / "objects"))
    holdfast("writer-lease", "acquire", "k", "--holder", "ops", *at, folder=tmp_path)
    path = tmp_path / "objects" / "objects" / "leases" / "k.lease.json"
    path.write_bytes(path.read_bytes()[:60])
    code, answer = holdfast("writer-lease", "show", "k", *at, folder=tmp_path)
    assert (code, answer["error"]["code"]) == (1, "invalid_record")  # type: ignore[index]
    code, _ = holdfast("writer-lease", "repair", "k", "--token", "1.9", *at, folder=tmp_path)
    assert code == 0
    _, taken = holdfast("writer-lease", "acquire", "k", "--holder", "b", *at, folder=tmp_path)
    assert taken["token"] == {"term": 1, "generation": 10}


_ASKS_ONCE = """
import asyncio
from holdfast.errors import BackendFailed
from holdfast.fencing.cloud import RemoteObjects

async def main():
    options = {"endpoint": "http://127.0.0.1:1", "access_key_id": "a", "secret_access_key": "b"}
    try:
        await RemoteObjects("s3://bucket", options=options).get("a")
    except BackendFailed:
        pass

asyncio.run(main())
"""


def test_a_process_ends_well_right_after_its_last_request() -> None:
    """Threads of the library that still use Python would abort it, one time in four."""
    for _ in range(4):
        running = [subprocess.Popen([sys.executable, "-c", _ASKS_ONCE], cwd=ROOT) for _ in range(4)]
        assert [process.wait(timeout=40) for process in running] == [0] * 4

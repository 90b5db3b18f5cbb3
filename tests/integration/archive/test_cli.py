"""`holdfast archive` as an operator uses it, on an embedded store."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from holdfast.engine import open_engine
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.frames import NewFrame
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.polling import wait_for
from tests.support import commands

COUNT = 6


def holdfast(*args: str, folder: Path, code: int = 0, as_json: bool = True) -> Any:
    """Run the command in a folder and expect its exit code."""
    flags = ["--json"] if as_json else []
    run = commands.run([*args, *flags], folder=folder, environment=os.environ, timeout_s=40)
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout or run.stderr) if as_json else run.stdout


def start_archiver(folder: Path) -> subprocess.Popen[str]:
    """Start `holdfast archive run`."""
    command = [sys.executable, "-m", "holdfast.cli", "archive", "run"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


async def end_some(folder: Path) -> list[str]:
    """Run executions to their end, and let their retention pass."""
    async with open_engine(f"embedded://{folder}/.holdfast") as engine:
        items = [
            NewExecution(kind="k", retention_ms=0, tenant=f"t{n % 2}", input=b'{"n": %d}' % n)
            for n in range(COUNT)
        ]
        answers = await engine.submit_many(items)
        async with engine.claimer(worker="w") as claimer:
            for claim in await claimer.claim(COUNT, 60_000):
                await engine.checkpoint(claim.id, claim.lease, "step", b"1")
                frames = [
                    NewFrame.from_view("text", "Hello", None),
                    NewFrame.from_view("bytes", "AP8=", "base64"),
                ]
                await engine.streams.append(claim.id, claim.lease, frames)
                await engine.complete(claim.id, claim.lease, b'"done"')

        async def all_wait() -> bool:
            return (await engine.store.archives.waiting())[0] == COUNT

        await wait_for(all_wait)
        return [answer.id for answer in answers if isinstance(answer, Submitted)]


@pytest.mark.timeout(120)
async def test_the_life_of_an_archive(tmp_path: Path) -> None:
    """Enable, run, look, take out, bring back, erase."""
    url = f"file://{tmp_path}/archive"

    def run(*args: str, **options: Any) -> Any:
        return holdfast(*args, folder=tmp_path, **options)

    assert run("archive", "enable", url) == {"url": url}
    ids = await end_some(tmp_path)
    assert run("archive", "status")["waiting"] == COUNT
    assert run("archive", "run", "--once")["archived"] == COUNT
    found = run("archive", "status")
    assert (found["waiting"], found["archive"]["tenants"]) == (0, {"t0": 3, "t1": 3})

    assert run("ls") == {"items": [], "next_cursor": None}
    listed = run("ls", "--archived", "--tenant", "t0", "--limit", "2")
    assert [item["id"] for item in listed["items"]] == [ids[4], ids[2]]
    more = run("ls", "--archived", "--tenant", "t0", "--cursor", listed["next_cursor"])
    assert [item["id"] for item in more["items"]] == [ids[0]]

    shown = run("show", ids[3])
    assert (shown["archived"], shown["input"], shown["result"]) == (True, {"n": 3}, "done")
    assert [event["event"] for event in shown["history"]] == ["created", "claimed", "completed"]
    assert "in the archive" in run("show", ids[3], as_json=False)
    assert run("show", "nobody", code=3)["error"]["code"] == "execution_not_found"

    run("archive", "export", ids[0], "one.json")
    about = json.loads((tmp_path / "one.json").read_text())["about"]
    assert (about["input"], about["result"], about["execution"]["kind"]) == ({"n": 0}, "done", "k")
    assert [step["result"] for step in about["steps"]] == [1]
    run("archive", "import", "one.json")
    assert run("show", ids[0])["archived"] is False

    run("archive", "parquet", "all.parquet", "--tenant", "t1")
    table = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert {row["id"] for row in table} == {ids[1], ids[3], ids[5]}
    assert {(row["state"], row["result"]) for row in table} == {("completed", b'"done"')}
    assert json.loads(table[0]["steps"])[0]["name"] == "step"

    assert run("archive", "verify") == {"executions": COUNT, "problems": []}
    assert run("archive", "erase", "t1", code=2)["error"]["code"] == "invalid_input"
    proof = run("archive", "erase", "t1", "--yes", "--by", "ops", "--reason", "asked")
    assert (proof["executions"], proof["confirmed"]) == (3, True)
    assert run("show", ids[1], code=3)["error"]["code"] == "execution_not_found"
    assert run("archive", "verify")["executions"] == 3
    run("archive", "disable")
    assert run("archive", "run", "--once", code=2)["error"]["code"] == "invalid_input"
    assert "--yes" in run("archive", "forget", url, code=2)["error"]["message"]
    assert url in run("archive", "forget", f"{url}2", "--yes", code=2)["error"]["message"]
    assert run("archive", "forget", url, "--yes") == {"forgot": url}


@pytest.mark.timeout(120)
async def test_an_archiver_that_runs_moves_what_waits_and_stops_when_told(tmp_path: Path) -> None:
    """SIGTERM ends it cleanly; its lease is given up, so nobody waits for it."""
    url = f"file://{tmp_path}/archive"
    holdfast("archive", "enable", url, folder=tmp_path)
    await end_some(tmp_path)
    running = start_archiver(tmp_path)
    assert running.stderr is not None
    assert "archiving" in running.stderr.readline()
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=40)
    assert running.returncode == 0
    assert holdfast("archive", "run", "--once", folder=tmp_path)["archived"] == COUNT


@pytest.mark.timeout(120)
async def test_an_archived_execution_answers_what_one_in_the_store_does(tmp_path: Path) -> None:
    """show, result, history, stream and explain; near the store and over HTTP."""
    holdfast("archive", "enable", f"file://{tmp_path}/archive", folder=tmp_path)
    execution_id, *_ = await end_some(tmp_path)
    holdfast("archive", "run", "--once", folder=tmp_path)
    near = f"embedded://{tmp_path}/.holdfast"
    async with (
        open_engine(near) as engine,
        serving(engine, ServerSettings(port=0)) as (_, far),
    ):
        for store in (near, far):
            texts = [
                await asyncio.to_thread(
                    holdfast, verb, execution_id, "--store", store, folder=tmp_path, as_json=False
                )
                for verb in ("show", "result", "history", "stream", "explain")
            ]
            shown, result, events, stream, why = texts
            assert "in the archive" in shown
            assert result == '"done"\n'
            assert [line.split()[2] for line in events.splitlines()] == [
                *("created", "claimed", "completed"),
            ]
            assert stream.startswith("Hello\n")
            assert stream.rstrip().endswith("2 bytes")
            assert why == "It has ended: completed. It is in the archive.\n"

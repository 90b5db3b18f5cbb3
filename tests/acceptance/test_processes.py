"""`--processes`: one command, several processes, as its users see them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from holdfast import App
from holdfast.testing.polling import wait_for
from tests.acceptance.processes import python
from tests.support.commands import Talking
from tests.support.http_servers import holdfast_process

pytestmark = pytest.mark.timeout(180)

PATIENCE_S = 60
CALLS = 40
TASKS = """
import asyncio, os
from holdfast import App

app = App("STORE")

@app.task
async def where(n: int) -> int:
    await asyncio.sleep(0.02)
    return os.getpid()
"""


async def said(process: Talking) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        line: dict[str, Any] = json.loads(await process.stdout.readline())
    return line


async def both_running(process: Talking, first: dict[str, Any]) -> list[int]:
    """Read on until both have started; return their process ids."""
    second = await said(process)
    assert [first["process"], second["process"]] == [1, 2]
    running = await said(process)
    assert running["event"] == "running"
    pids: list[int] = running["processes"]
    assert len(set(pids)) == 2
    return pids


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def counted(url: str) -> float:
    """Return how many calls of /v1/lanes all processes have answered."""
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        text = (await client.get("/metrics")).text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "holdfast_http_requests_total" and sample.labels["route"] == "/v1/lanes"
    )


async def ask(url: str) -> int:
    # Each call has a connection of its own, so that the system chooses a process.
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        return (await client.get("/v1/lanes")).status_code


async def test_a_server_of_several_processes(tmp_path: Path) -> None:
    """They share a port and their metrics; one that dies is replaced; SIGTERM ends them all."""
    options = ("--store", f"embedded://{tmp_path / 'store'}", "--listen", "127.0.0.1:0")
    async with holdfast_process(tmp_path, tmp_path, "server", *options, "--processes", "2") as (
        first,
        process,
    ):
        url = first["url"]
        pids = await both_running(process, first)
        assert [await ask(url) for _ in range(CALLS)] == [200] * CALLS

        async def all_counted() -> bool:
            return await counted(url) == CALLS

        await wait_for(all_counted, timeout_s=PATIENCE_S)
        os.kill(pids[1], signal.SIGKILL)
        successor = await said(process)
        assert (successor["event"], successor["process"], successor["url"]) == ("started", 2, url)
        assert [await ask(url) for _ in range(CALLS)] == [200] * CALLS
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
    assert not any(lives(pid) for pid in pids)
    lines = [json.loads(line) for line in (tmp_path / "server.log").read_text().splitlines()]
    assert any("process 2 ended with signal 9" in line["message"] for line in lines)
    assert {line.get("process") for line in lines} >= {1, 2}


async def test_a_worker_of_several_processes(tmp_path: Path) -> None:
    """Both work; when their parent is killed, they drain."""
    store = f"embedded://{tmp_path / 'store'}"
    (tmp_path / "tasks.py").write_text(TASKS.replace("STORE", store))
    options = ("tasks:app", "--slots", "2", "--processes", "2")
    async with holdfast_process(tmp_path, tmp_path, "worker", *options) as (first, process):
        pids = await both_running(process, first)
        app = App(store)

        @app.task
        async def where(n: int) -> int:
            return n

        async with app:
            handles = await where.submit_many([{"n": n} for n in range(CALLS)])
            found = {await handle.result(timeout=PATIENCE_S) for handle in handles}
        assert found == set(pids)
        process.kill()
        await asyncio.wait_for(process.wait(), PATIENCE_S)

        async def gone() -> bool:
            return not any(lives(pid) for pid in pids)

        await wait_for(gone, timeout_s=PATIENCE_S)
    log = (tmp_path / "worker.log").read_text()
    assert log.count("draining") == 2


def test_a_command_that_cannot_work_says_so_once(tmp_path: Path) -> None:
    """It ends as it does without the option."""
    done = python(
        "-m", "holdfast.cli", "worker", "nothing:app", "--processes", "2", folder=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.count("nothing") == 1


def test_the_number_of_processes_is_checked(tmp_path: Path) -> None:
    done = python("-m", "holdfast.cli", "server", "--processes", "-1", folder=tmp_path)
    assert done.returncode == 2
    assert "processes: must be between 0 and 256" in done.stderr

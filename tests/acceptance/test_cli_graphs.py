"""`holdfast graphs`, as a person uses it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.model.executions import Failure
from tests.acceptance.processes import ROOT, python
from tests.support import commands
from tests.support.graphs import edges, members


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"embedded://{tmp_path / 'store'}"


def holdfast(store_url: str, *args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOLDFAST_STORE": store_url}
    return commands.run(args, folder=Path.cwd(), environment=environment, timeout_s=30)


def shown(store_url: str, *args: str) -> Any:
    run = holdfast(store_url, *args, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def make_graph(store_url: str) -> str:
    """Make a graph in which one of two branches has failed."""

    async def work(engine: Engine) -> str:
        graph = await engine.graphs.submit(
            members("abcd"), edges("a>b", "a>c", "b>d", "c>d"), tenant="acme"
        )
        async with engine.claimer(worker="w") as claimer:
            (a,) = await claimer.claim(10, 30_000, wait_ms=5_000)
            await engine.complete(a.id, a.lease)
            first, second = await claimer.claim(10, 30_000, wait_ms=5_000)
            await engine.fail(first.id, first.lease, Failure(type="e", message="m"))
            await engine.complete(second.id, second.lease)
        return graph.id

    async def go() -> str:
        async with open_engine(store_url) as engine:
            return await work(engine)

    return asyncio.run(go())


def test_a_failed_graph_is_found_drawn_and_replayed(store_url: str) -> None:
    """From the list to the replay, and cancelled at last."""
    graph = make_graph(store_url)
    listed = holdfast(store_url, "graphs", "--state", "failed", "--tenant", "acme")
    assert re.search(rf"{graph} +failed +4 +0 +1 +acme", listed.stdout)

    drawn = holdfast(store_url, "graphs", "show", graph).stdout
    assert "4: 2 completed, 1 failed, 1 skipped" in drawn
    assert [line.split()[-1] for line in drawn.splitlines() if re.match(r"[●✗○│]", line)] == [
        "work", "work", "work", "work",
    ]  # fmt: skip
    assert "├─╮" in drawn
    assert "state=failed" in drawn
    chart = holdfast(store_url, "graphs", "show", graph, "--mermaid").stdout.splitlines()
    assert chart[0] == "flowchart TD"
    assert len([line for line in chart if "-->" in line]) == 4

    replayed = holdfast(store_url, "graphs", "replay", graph, "--reason", "again")
    assert replayed.stdout == f"replayed {graph}\n"
    found = shown(store_url, "graphs", "show", graph)
    assert found["graph"]["state"] == "running"
    assert sorted(member["state"] for member in found["members"].values()) == [
        "completed", "completed", "waiting", "waiting_children",
    ]  # fmt: skip
    assert found["history"][-1]["data"] == {"reason": "again"}
    (waiting,) = [m["id"] for m in found["members"].values() if m["state"] == "waiting_children"]
    explained = shown(store_url, "explain", waiting)
    assert explained["why"].endswith(f"(waiting) of graph {graph}.")

    cancelled = shown(store_url, "graphs", "cancel", graph, "--wait", "5", "--reason", "done")
    assert cancelled == {"id": graph, "state": "cancelled", "cancelled": 2, "failed": []}
    assert shown(store_url, "graphs", "ls")["items"][0]["reason"] == "done"


def test_errors_have_their_codes(store_url: str) -> None:
    """An unknown graph, one that runs, a member that is replayed alone."""
    graph = make_graph(store_url)
    unknown = holdfast(store_url, "graphs", "show", "nobody")
    assert (unknown.returncode, unknown.stderr) == (
        3, "holdfast: no graph has the id nobody (graph_not_found)\n",
    )  # fmt: skip
    alone = holdfast(store_url, "replay", f"{graph}~b")
    assert alone.returncode == 1
    assert f"is a member of graph {graph}: replay the graph (member_of_graph)" in alone.stderr
    holdfast(store_url, "graphs", "replay", graph)
    again = holdfast(store_url, "graphs", "replay", graph, "--json")
    assert json.loads(again.stderr)["error"]["code"] == "graph_not_finished"
    wrong = holdfast(store_url, "graphs", "cancel", graph, "--policy", "some")
    assert wrong.returncode == 2


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    """The first code of docs/graphs.md prints what the page says."""
    page = (ROOT / "docs" / "graphs.md").read_text()
    code = page.split("```python\n", 1)[1].split("```", 1)[0]
    (tmp_path / "example.py").write_text(code)
    run = python("example.py", folder=tmp_path)
    assert run.returncode == 0, run.stderr
    said = re.search(r"^prints `([^`]*)`", page, re.MULTILINE)
    assert said is not None
    assert run.stdout.strip() == said[1]

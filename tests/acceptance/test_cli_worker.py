"""`holdfast worker`: signals, drain, and what it says of itself."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from tests.acceptance.test_cli import (
    SHOP,
    TIMEOUT_S,
    Background,
    asked,
    background,
    done,
    wait_for_file,
    write_shop,
)

_STARTED = "holdfast is running shop:app"
_FROZEN = """
import gc

@app.task
def frozen() -> int:
    return gc.get_freeze_count()
"""


async def _hold(folder: Path, worker: Background) -> tuple[str, Path]:
    """Have the worker run a task until its gate is made; returns id and gate."""
    await worker.wait_for_text(_STARTED)
    gate = folder / "gate"
    held = asked("submit", "hold", "-i", json.dumps({"gate": str(gate)}), folder=folder)["id"]
    await wait_for_file(Path(f"{gate}.started"))
    return held, gate


async def test_sigterm_drains_what_runs(tmp_path: Path) -> None:
    """The task ends as if nothing had happened, in its first attempt, and the exit code is 0."""
    write_shop(tmp_path)
    with background(["worker", "shop:app"], tmp_path) as worker:
        held, gate = await _hold(tmp_path, worker)
        worker.process.send_signal(signal.SIGTERM)
        await worker.wait_for_text("draining")
        gate.touch()
        assert worker.process.wait(TIMEOUT_S) == 0
    assert asked("result", held, folder=tmp_path)["result"] == "released"
    assert len(asked("show", held, folder=tmp_path)["attempts"]) == 1


async def test_a_worker_does_not_search_its_modules_for_garbage(tmp_path: Path) -> None:
    """What is loaded when it starts to claim is left out, so tasks do not wait for a search."""
    write_shop(tmp_path, SHOP + _FROZEN)
    with background(["worker", "shop:app"], tmp_path):
        made = asked("submit", "frozen", folder=tmp_path)["id"]
        assert asked("result", made, "--wait", "30", folder=tmp_path)["result"] > 10_000


async def test_a_second_signal_gives_the_work_back_at_once(tmp_path: Path) -> None:
    """The execution waits for another worker, and Ctrl-C makes the exit code 130."""
    write_shop(tmp_path)
    with background(["worker", "shop:app"], tmp_path) as worker:
        held, _ = await _hold(tmp_path, worker)
        worker.process.send_signal(signal.SIGINT)
        await worker.wait_for_text("draining")
        assert worker.end(signal.SIGINT) == 130
    assert "Traceback" not in worker.text()
    shown = asked("show", held, folder=tmp_path)["execution"]
    assert (shown["state"], shown["attempts"]) == ("waiting", 1)


async def test_an_operator_drains_a_worker_and_options_are_as_given(tmp_path: Path) -> None:
    """It learns so at its next heartbeat and ends with 0; it said of itself what it was told."""
    write_shop(tmp_path)
    options = ("--slots", "7", "--lane", "a,b", "--capability", "gpu", "--name", "pool")
    with background(
        ["worker", "shop:app", *options, "--lease", "1s", "--json"], tmp_path
    ) as worker:
        await worker.wait_for_text('"event":"started"')
        said = json.loads(worker.text().splitlines()[0])
        assert (said["slots"], said["lanes"], said["capabilities"]) == (7, ["a", "b"], ["gpu"])
        assert said["instance"].startswith("pool.")
        assert said["tasks"]["broken"] == 'broken(why: string = "no way") -> null'
        assert done("workers", "drain", said["instance"], folder=tmp_path).endswith(
            " is draining\n"
        )
        assert worker.process.wait(TIMEOUT_S) == 0
    assert asked("workers", folder=tmp_path)["items"] == []

"""Deployments of changed code while executions run, with workers that are killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from holdfast.testing.polling import wait_for
from tests.acceptance.test_cli import asked, background, done, write_shop

APP = """
import pathlib
import time

from holdfast import App, Context

app = App()


def note(what: str) -> None:
    with open("effects", "a") as effects:
        print(what, file=effects)
    while what == "pack" and not pathlib.Path("open").exists():
        time.sleep(0.01)


@app.task(name="order")
async def order(ctx: Context, number: int) -> int:
    {check}
    await ctx.step("charge", note, "charge")
    await ctx.step("pack", note, "pack")
    return number
"""
CHECK = 'await ctx.step("check", note, "check")'
VERSIONS = (
    APP.format(check=""),
    APP.format(check=CHECK),
    APP.format(check=f'if await ctx.version("check", 2) >= 2:\n        {CHECK}'),
)
WORKER = ["worker", "shop:app", "--lease", "1s"]


@pytest.mark.timeout(120)
async def test_an_execution_survives_a_bad_deployment_and_killed_workers(tmp_path: Path) -> None:
    """It waits for code that fits, says so, and continues; the card is charged once."""
    write_shop(tmp_path, VERSIONS[0])
    with background(WORKER, tmp_path) as worker:
        old = asked("submit", "order", "-i", '{"number": 1}', folder=tmp_path)["id"]
        await worker.wait_for_text("holdfast is running shop:app")
        await _effects(tmp_path, ["charge", "pack"])
        worker.end(signal.SIGKILL)

    write_shop(tmp_path, VERSIONS[1])
    with background(WORKER, tmp_path) as worker:
        await worker.wait_for_text("suspended: execution")
        why = done("explain", old, folder=tmp_path)
        assert "Was step 'check' added before 'charge'" in why
        assert f"then run `holdfast resume {old}`" in why
        assert "waits for code that fits" in done("ls", folder=tmp_path)
        worker.end(signal.SIGKILL)

    write_shop(tmp_path, VERSIONS[2])
    (tmp_path / "open").touch()
    with background(WORKER, tmp_path) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
        filters = ("--mismatched", "--kind", "order", "--since", "1h")
        planned = asked("resume", *filters, "--dry-run", folder=tmp_path)
        assert planned == {"dry_run": True, "resumed": [old], "refused": []}
        assert done("resume", *filters, folder=tmp_path).endswith("1 execution resumed\n")
        assert done("result", old, "--wait", "20", folder=tmp_path) == "1\n"
        new = asked("submit", "order", "-i", '{"number": 2}', folder=tmp_path)["id"]
        assert done("result", new, "--wait", "20", folder=tmp_path) == "2\n"
    # The first worker died while it packed.
    effects = (tmp_path / "effects").read_text().split()
    assert effects == ["charge", "pack", "pack", "check", "charge", "pack"]
    kept = {step["name"] for step in asked("show", old, folder=tmp_path)["steps"]}
    assert kept == {"charge", "pack", "version:check"}


async def _effects(folder: Path, expected: list[str]) -> None:
    async def reached() -> bool:
        file = folder / "effects"
        return file.exists() and file.read_text().split() == expected

    await wait_for(reached, timeout_s=20)

"""Two tenants use the same names on the command line: with --tenant, and with keys over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.test_cli import background, write_shop
from tests.support.far_cli import Place, command, place

APP = """
from holdfast import App

app = App()


@app.schedule(cron="0 3 * * *")
@app.task
async def nightly() -> None:
    ...
"""


@pytest.fixture
async def here() -> AsyncIterator[Place]:
    async with place() as found:
        yield found


async def said(place_url: str, line: str) -> str:
    """Run a command that must succeed, and return what it says."""
    shown = await command(*line.split(), "--store", place_url)
    assert shown.code == 0, (line, shown.err)
    return shown.out


@pytest.mark.parametrize("where", ["near", "far"])
async def test_commands_take_the_tenant_of_a_name(here: Place, where: str) -> None:
    """For each noun; near the store and as the operator of a server."""
    url = getattr(here, where)
    for n, tenant in enumerate(("acme", "bolt"), 1):
        whose = f"--tenant {tenant}"
        await said(url, f"quotas create packers --max-concurrent {n} {whose}")
        await said(url, f"budgets create packers --hard tokens={n} {whose}")
        await said(url, f"schedules create nightly work --every {n}h {whose}")
        assert await said(url, f"submit k{n} --id order-1 {whose}") == f"{tenant}=order-1\n"
    for n, tenant in enumerate(("acme", "bolt"), 1):
        whose = f"--tenant {tenant}"
        assert f"running     0 of {n}\n" in await said(url, f"quotas show packers {whose}")
        assert f"hard {n}," in await said(url, f"budgets show packers {whose}")
        assert f"every {n} h" in await said(url, f"schedules show nightly {whose}")
        assert f"k{n}" in await said(url, f"show {tenant}=order-1")
        await said(url, f"budgets set packers --hard tokens=9 {whose}")
        await said(url, f"budgets reset packers {whose}")
        await said(url, f"budgets breaches packers {whose}")
        await said(url, f"quotas set packers --max-concurrent 9 {whose}")
        for verb in ("pause", "resume", "trigger", "next", "delete"):
            await said(url, f"schedules {verb} nightly {whose}")
        await said(url, f"quotas attach {tenant}/packers --kind k")
        await said(url, f"quotas delete packers {whose}")
    missing = await command("quotas", "show", "packers", "--store", url)
    assert (missing.code, "quota_not_found" in missing.err) == (3, True)


@pytest.mark.parametrize("where", ["near", "far"])
async def test_retention_is_set_for_all_and_for_a_tenant(here: Place, where: str) -> None:
    """What is set can be listed, and taken back."""
    url = getattr(here, where)
    await said(url, "retention set completed=1h failed=2d")
    shown = await said(url, "retention set completed=90s --tenant acme")
    assert shown == "retention of completed, tenant acme: 1 min 30 s\n"
    hour = 3_600_000
    for_all = {"completed": hour, "failed": 48 * hour}
    assert await here.engine.lanes.retention() == {None: for_all, "acme": {"completed": 90_000}}
    rows = (await said(url, "retention")).splitlines()[2:]
    assert [row.split(None, 2) for row in rows] == [
        ["all", "completed", "1 h 0 min"],
        ["all", "failed", "2 d 0 h"],
        ["acme", "completed", "1 min 30 s"],
    ]
    await said(url, "retention set completed= --tenant acme")
    assert "acme" not in await said(url, "retention")


async def test_a_worker_boots_whatever_another_tenant_has(
    here: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its schedules are those of the tenant of its key."""
    _, acme = await here.engine.api_keys.create(roles=["submitter"], tenant="acme")
    _, bolt = await here.engine.api_keys.create(roles=["worker", "submitter"], tenant="bolt")
    monkeypatch.setenv("HOLDFAST_KEY", acme)
    line = ("schedules", "create", "nightly", "junk", "--cron", "0 0 1 1 *", "--paused")
    created = await command(*line, "--store", here.far)
    assert created.code == 0, created.err
    folder = write_shop(tmp_path, APP)
    args = ["worker", "shop:app", "--store", here.far]
    with background(args, folder, HOLDFAST_KEY=bolt) as worker:
        await worker.wait_for_text("holdfast is running shop:app")
    declared = await here.engine.schedules.get("nightly", tenant="bolt")
    assert (declared.plan.execution.kind, declared.plan.paused) == ("nightly", False)
    assert (await here.engine.schedules.get("nightly", tenant="acme")).plan.paused

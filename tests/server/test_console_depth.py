"""The console in a real browser: conversations, crashes, comparisons, rollouts and forms."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Download, Expect, Page, async_playwright

from holdfast.engine import Engine, open_engine
from holdfast.host.builder import HostBuilder
from holdfast.host.packs import build, upload_of
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.servers import TestServer
from tests.acceptance.test_cli import background
from tests.server.test_console_pages import CHROMIUM, Scene, ask, claim, visiting
from tests.support.hosting import reached, shift, stage
from tests.support.pack_hosts import read_pack

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`")
SUPPORT = DeploymentRef(env="local", id="support", tenant="default")
#: CI is slow; a passing test does not wait.
PATIENCE_MS = 25_000
#: Between the parts of a path.
STEP = "\u203a"
expect = Expect()
expect.set_options(timeout=PATIENCE_MS)
SCHEMA = {
    "type": "object",
    "required": ["who", "lines"],
    "properties": {
        "who": {"type": "object", "properties": {"name": {"type": "string", "minLength": 3}}},
        "lines": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["sku"],
                "properties": {
                    "sku": {"type": "string"},
                    "count": {"type": "integer", "default": 1},
                },
            },
        },
        "pay": {
            "oneOf": [
                {
                    "title": title,
                    "type": "object",
                    "required": [name],
                    "properties": {name: {"type": "string"}},
                }
                for title, name in (("Card", "digits"), ("Invoice", "billed"))
            ]
        },
        "speed": {"oneOf": [{"const": 1, "title": "Slow"}, {"const": 2, "title": "Fast"}]},
    },
}


@pytest.fixture(scope="module")
async def scene(real_server: TestServer) -> AsyncIterator[Scene]:
    """A server, a host of the example pack, and a browser."""
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=depth"
    async with (
        open_engine(store) as engine,
        serving(engine, ServerSettings(port=0)) as (_, url),
        httpx.AsyncClient(base_url=url, timeout=30) as client,
        HostBuilder(engine).work(lease_ms=5_000).policy(trusted=True).build().running(),
        async_playwright() as playwright,
    ):
        await serve(engine)
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield Scene(url, engine, browser, url, client, url, "")
        await browser.close()


async def serve(engine: Engine) -> None:
    """Serve the example, and have a revision that could follow."""
    upload = upload_of(build(read_pack("support")[0]))
    await stage(engine, "r1", upload, SUPPORT)
    await reached(engine, "r1", Lifecycle.READY, SUPPORT)
    await shift(engine, "r1", SUPPORT)
    await engine.deployments.stage(
        SUPPORT, digest=upload.digest, revision_id="r2", config={"greeting": "Hi"}
    )
    await engine.deployments.warm(SUPPORT, "r2")
    await reached(engine, "r2", Lifecycle.READY, SUPPORT)


async def content(download: Download) -> str:
    """Return the text of a file that the page made."""
    return await asyncio.to_thread((await download.path()).read_text)


def patient(page: Page) -> Page:
    """Let a page take its time."""
    page.set_default_timeout(PATIENCE_MS)
    return page


async def talk(scene: Scene, user: str, *texts: str) -> str:
    """Let somebody talk to the example; return the session."""
    path = "/v1/envs/local/tenants/default/activities"
    for text in texts or ("hello",):
        said = {"conversation": "c", "user": user, "payload": {"text": text}}
        waited = {"activity": said, "deployment": "support", "wait_ms": 20_000}
        answer = await ask(scene.client, "POST", path, **waited)
    return str(answer["session"])


async def test_a_conversation_is_scrubbed_forked_and_kept_as_a_test(scene: Scene) -> None:
    """The transcript, the flow and the variables move together; a fork is not real."""
    session = await talk(scene, "ann", "hello", "order", "A17")
    async with visiting(scene) as visit:
        page = patient(visit.page)
        await visit.open(f"sessions/{session}")
        await expect(page.get_by_text("Flow main")).to_be_visible()
        await expect(page.locator(".node.chosen")).to_contain_text("choice")
        slider = page.get_by_label("Line 8 of 8")
        for line in (7, 6, 5):
            await slider.press("ArrowLeft")
            await expect(page.get_by_text(f"Line {line} of 8")).to_be_visible()
            slider = page.get_by_label(f"Line {line} of 8")
        await expect(page.get_by_text("Flow order")).to_be_visible()
        await expect(page.get_by_role("heading", name="Variables after line 5")).to_be_visible()
        await expect(page.locator("section", has_text="Variables after line 5")).to_contain_text(
            '"order"'
        )
        await page.get_by_label("What the user says").fill("wrong")
        await page.get_by_role("button", name="Try").click()
        rehearsed = page.get_by_label("Rehearsed")
        await expect(rehearsed).to_contain_text("That is not the number of an order.")
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Save as pack test").click()
        text = await content(await download.value)
        assert "say: wrong" in text
        assert "A17" not in text.partition("tests:")[2].replace("such as A17", "")


async def walkable(scene: Scene) -> str:
    """Let there be what the five questions of docs/console.md ask for; return a session."""
    client = scene.client
    await ask(client, "PUT", "/v1/workers/w1", worker="shop", lanes=["walk"], slots=4)
    for number in range(2):
        await ask(client, "POST", "/v1/executions", kind="charge", id=f"card-{number}", lane="walk")
        lease = (await claim(client, "walk"))["lease"]
        error = {"type": "CardDeclined", "message": "the bank has declined the card"}
        path = f"/v1/executions/card-{number}/fail"
        await ask(client, "POST", path, lease=lease, error={**error, "retryable": False})
    await ask(client, "POST", "/v1/executions", kind="refund", id="refund-1", lane="walk")
    lease = (await claim(client, "walk"))["lease"]
    wait = {"waitpoints": [{"name": "ok", "title": "Refund?"}], "condition": {"waitpoint": "ok"}}
    await ask(client, "POST", "/v1/executions/refund-1/suspend", lease=lease, **wait)
    (asked,) = (await ask(client, "GET", "/v1/executions/refund-1/waitpoints"))["items"]
    token = await ask(client, "GET", f"/v1/executions/refund-1/waitpoints/{asked['id']}/token")
    answer = {"name": "answer", "payload": {"approved": True}, "token": token["token"]}
    source = {"type": "user", "identity": "lea"}
    await ask(client, "POST", f"/v1/signals/{asked['id']}", source=source, **answer)
    film = {"kind": "film", "id": "film-1", "lane": "walk", "requires": ["gpu"]}
    await ask(client, "POST", "/v1/executions", **film)
    limits = {"tokens": {"hard": 12_000}}
    await ask(client, "POST", "/v1/budgets", id="texts", tenant="acme", limits=limits)
    await ask(client, "POST", "/v1/executions", kind="text", tenant="acme", lane="walk")
    return await talk(scene, "zoe")


async def test_the_five_questions_are_answered_as_the_docs_say(scene: Scene) -> None:
    """Which task fails most, why one does not run, who approved, who spends, who holds."""
    session = await walkable(scene)
    async with visiting(scene) as visit:
        page = patient(visit.page)
        heading = page.get_by_role("heading", level=1)
        sidebar = page.get_by_role("navigation", name="Pages")

        async def find(execution: str) -> None:
            await page.keyboard.press("/")
            await expect(page.get_by_role("dialog").get_by_role("combobox")).to_be_focused()
            await page.keyboard.insert_text(execution)
            await page.keyboard.press("Enter")
            await expect(page.get_by_text(execution, exact=True).first).to_be_visible()

        await visit.open("")
        failing = page.locator("section", has_text="Failing most")
        await failing.get_by_role("link", name="charge CardDeclined").click()
        await expect(visit.rows).to_have_count(2)
        await visit.rows.first.get_by_role("link").first.click()
        await expect(page.get_by_text("the bank has declined the card").first).to_be_visible()
        await sidebar.get_by_role("link", name="Failures").click()
        await expect(page.get_by_role("link", name="7 days")).to_be_visible()

        await find("film-1")
        why = page.get_by_role("region", name="Why")
        await expect(why).to_contain_text("no live worker on lane walk has the capability gpu")
        await why.get_by_role("link", name="Lane walk").click()
        await expect(heading).to_have_text("Workers and lanes")

        await find("refund-1")
        parts = page.get_by_role("navigation", name="Parts of this page")
        await parts.get_by_role("link", name="Waits").click()
        await expect(page.get_by_text("answered by lea")).to_be_visible()
        await expect(page.locator("main")).to_contain_text("approved")

        await page.get_by_label("Tenant").select_option("acme")
        await page.get_by_role("link", name="About acme").click()
        await expect(heading).to_have_text("acme")
        await expect(page.locator("section", has_text="Spend")).to_contain_text("0 / 12,000")
        await page.get_by_label("Tenant").select_option("")

        await sidebar.get_by_role("link", name="Deployments").click()
        await page.get_by_role("link", name="support", exact=True).click()
        await page.get_by_role("link", name="r1", exact=True).click()
        holders = page.locator("section", has_text="What holds revision r1")
        await expect(holders).to_contain_text("about 2 days, when the last wait times out")
        await holders.locator(f"a[href*='sessions/{session}']").click()
        await expect(heading).to_have_text("zoe")


async def test_the_split_editor_foretells_when_a_revision_is_free(scene: Scene) -> None:
    """Who goes where, who stays, and for how long."""
    await talk(scene, "yan")
    async with visiting(scene) as visit:
        page = patient(visit.page)
        await visit.open("deployments/local/support")
        await page.get_by_label("Basis points of r1").fill("0")
        await page.get_by_label("Basis points of r1").press("Enter")
        told = page.locator(".foretold")
        await expect(told).to_contain_text("From now on about 100 % of new sessions go to r2.")
        await expect(told).to_contain_text("stay there until they end: about 2 days, when the last")
        await expect(told).to_contain_text("Nobody is moved.")


async def test_revisions_differ_in_words_and_a_rollout_starts_from_the_page(scene: Scene) -> None:
    """The dialog has the steps and the guards of the command."""
    async with visiting(scene) as visit:
        page = patient(visit.page)
        await visit.open("deployments/local/support?revision=r2")
        await expect(page.get_by_label("Differences")).to_contain_text(f"config {STEP} greeting")
        await page.get_by_role("button", name="Roll out").click()
        await page.get_by_label("Steps").fill("10%:1h,100%")
        await page.get_by_label("Error rate, points higher at most").fill("")
        await page.get_by_role("dialog").get_by_role("button", name="Roll out").click()
        await expect(page.get_by_role("heading", name="Rollout of r2")).to_be_visible()
    (rollout,) = await scene.engine.rollouts.list(SUPPORT)
    assert [step.weight_bps for step in rollout.steps] == [1_000, 10_000]
    assert (rollout.guards.error_rate_bps, rollout.guards.p95_percent) == (None, 150)


async def test_nested_questions_are_answered_and_refusals_name_the_field(scene: Scene) -> None:
    """Objects, lists, alternatives and titles; what the server refuses is shown at its field."""
    client = scene.client
    await ask(client, "PUT", "/v1/workers/w1", worker="shop", lanes=["ask"], slots=4)
    await ask(client, "POST", "/v1/executions", kind="buy", id="buy-1", lane="ask")
    lease = (await claim(client, "ask"))["lease"]
    wait = {
        "waitpoints": [{"name": "ok", "title": "What to buy?", "schema": SCHEMA}],
        "condition": {"waitpoint": "ok"},
    }
    await ask(client, "POST", "/v1/executions/buy-1/suspend", lease=lease, **wait)
    async with visiting(scene) as visit:
        page = patient(visit.page)
        await visit.open("inbox")
        await page.get_by_label("Name").fill("Al")
        await page.get_by_role("button", name="Add").click()
        await expect(page.get_by_label("Count")).to_have_value("1")
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_text("Please fill this in.")).to_be_visible()
        await page.get_by_label("Sku").fill("teapot")
        await page.get_by_label("Kind of Pay").select_option("Invoice")
        await page.get_by_label("Billed").fill("ops")
        await page.get_by_label("Speed").select_option("Fast")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator(".field", has=page.get_by_label("Name"))).to_contain_text("short")
        await page.get_by_label("Name").fill("Alma")
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_text("Nobody has to answer anything")).to_be_visible()
    (signal_,) = await scene.engine.waitpoints.signals("buy-1")
    assert signal_.value == {
        "who": {"name": "Alma"},
        "lines": [{"sku": "teapot", "count": 1}],
        "pay": {"billed": "ops"},
        "speed": 2,
    }


async def test_runs_are_compared_and_a_tenant_has_a_page(scene: Scene) -> None:
    """Side by side, as the server compared them; a graph has its waterfall."""
    client = scene.client
    for number in (1, 2):
        run = {"kind": "k", "id": f"same-{number}", "lane": "nobody", "input": {"n": number}}
        await ask(client, "POST", "/v1/executions", **run)
    members = [{"key": key, "kind": "step", "lane": "nobody"} for key in ("a", "b")]
    edges = [{"from": "a", "to": "b"}]
    await ask(client, "POST", "/v1/graphs", id="graph", members=members, edges=edges)
    async with visiting(scene) as visit:
        page = patient(visit.page)
        await visit.open("runs/same-1?tab=compare")
        await page.get_by_label("Other run").fill("same-2")
        await page.get_by_role("button", name="Compare").click()
        await expect(page.get_by_label("Differences")).to_contain_text(f"input {STEP} n")
        await visit.go("graphs/graph")
        await expect(page.get_by_role("heading", name="Waterfall")).to_be_visible()
        await expect(page.get_by_label("Timeline").get_by_role("link")).to_have_count(2)
        await visit.go("tenants/default")
        await expect(page.get_by_role("heading", name="Top talkers")).to_be_visible()
        await visit.go("runs?kind=k")
        await expect(visit.rows).to_have_count(2)
        # The cursor stays on its row when another one comes above it.
        await page.keyboard.press("j")
        chosen = page.locator("tr.chosen").get_by_label("Select same-2")
        await expect(chosen).to_have_count(1)
        run = {"kind": "k", "id": "same-3", "lane": "nobody"}
        await ask(client, "POST", "/v1/executions", **run)
        await expect(visit.rows).to_have_count(3)
        await expect(chosen).to_have_count(1)
        await page.get_by_text("Export").click()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="as CSV").click()
        text = await content(await download.value)
        ids = [line.partition(",")[0] for line in text.splitlines()]
        assert ids == ["id", "same-3", "same-2", "same-1"]


APP = """
from pathlib import Path
import asyncio
from holdfast import App, Context

app = App()

@app.task
async def ship(ctx: Context) -> str:
    await ctx.step("pick", lambda: Path("picked").open("a").write("x"))
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    return "shipped"
"""


async def test_a_worker_is_crashed_and_its_run_goes_on(scene: Scene, tmp_path: Path) -> None:
    """A real SIGKILL; the next worker continues after the last recorded step."""
    (tmp_path / "parcels.py").write_text(APP)
    refused = await scene.client.post("/v1/dev/executions/x/crash")
    assert refused.status_code == 404
    with background(["dev", "parcels:app", "--listen", "127.0.0.1:0"], tmp_path) as dev:
        await dev.wait_for_text("http     http://")
        url = dev.text().partition("http     ")[2].split()[0]
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            await ask(client, "POST", "/v1/executions", kind="ship", id="parcel")
            context = await scene.browser.new_context()
            page = patient(await context.new_page())
            await page.goto(f"{url}/console/runs/parcel?tab=steps")
            await expect(page.locator(".steps")).to_contain_text("pick")
            before = (await ask(client, "GET", "/v1/executions/parcel"))["worker"]
            await page.get_by_role("button", name="Crash it").click()
            await page.get_by_role("dialog").get_by_role("button", name="Crash it").click()
            await expect(page.get_by_text("Killed process")).to_be_visible()
        await dev.wait_for_text("the worker was killed; starting it again")
        pid = int(before.split(".")[-2])
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        await dev.wait_for_text("http     http://", times=2)
        (tmp_path / "go").touch()
        await context.close()
        url = dev.text().rpartition("http     ")[2].split()[0]
        context = await scene.browser.new_context()
        page = patient(await context.new_page())
        await page.goto(f"{url}/console/runs/parcel?tab=attempts")
        await expect(page.locator(".page-head")).to_contain_text("Completed")
        await context.close()
        assert (tmp_path / "picked").read_text() == "x"
        assert dev.end(signal.SIGTERM) == 0

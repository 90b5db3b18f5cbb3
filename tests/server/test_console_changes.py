"""The console while things change: it shows them at once, moves nothing, and survives the store."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from holdfast.engine import open_engine
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.store.store import StoreSettings
from holdfast.testing.servers import start_server
from tests.server.test_console_pages import (
    CHROMIUM,
    Scene,
    Visit,
    ask,
    claim,
    scene,
    visiting,
)
from tests.server.test_killed_store import PERSISTENT
from tests.support.killing import kill, restart

__all__ = ["scene"]
PATIENCE_MS = 60_000

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`")


async def more(scene: Scene, kind: str, count: int) -> None:
    """Let there be further runs of a kind, which nobody claims."""
    for _ in range(count):
        await ask(scene.client, "POST", "/v1/executions", kind=kind, lane="nobody")


async def places(visit: Visit) -> list[str]:
    """Return which run is in which place."""
    found: list[str] = await visit.rows.locator("input").evaluate_all(
        "boxes => boxes.map(box => `${box.ariaLabel} ${box.getBoundingClientRect().y}`)"
    )
    return found


async def test_nothing_moves_under_the_pointer(scene: Scene) -> None:
    """While a row is selected or the page is paused, new runs wait and are counted."""
    await more(scene, "moving", 2)
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs?kind=moving")
        await expect(visit.rows).to_have_count(2)
        await expect(page.get_by_role("button", name="Live")).to_be_visible()
        before = await places(visit)
        await visit.rows.first.get_by_role("checkbox").check()
        await more(scene, "moving", 2)
        await expect(page.get_by_role("button", name="2 new")).to_be_visible()
        assert await places(visit) == before
        await page.keyboard.press("Escape")
        await expect(visit.rows).to_have_count(4)
        await page.get_by_role("button", name="Live").click()
        await expect(page.get_by_role("button", name=re.compile("Paused"))).to_be_visible()
        before = await places(visit)
        await more(scene, "moving", 2)
        await expect(page.get_by_role("button", name=re.compile("Paused.*2"))).to_be_visible()
        assert await places(visit) == before
        await page.get_by_role("button", name=re.compile("Paused")).click()
        await expect(visit.rows).to_have_count(6)


async def test_a_member_that_ends_is_seen_without_a_read(scene: Scene) -> None:
    """The feed says it; the page does not ask the server for the graph again before it shows it."""
    members = [{"key": key, "kind": "step", "lane": "drawn"} for key in ("a", "b")]
    edges = [{"from": "a", "to": "b"}]
    await ask(scene.client, "POST", "/v1/graphs", id="drawn", members=members, edges=edges)
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("graphs/drawn")
        await expect(page.get_by_role("link", name="a, waiting · step")).to_be_visible()
        await expect(page.get_by_role("row").filter(has_text="step")).to_have_count(2)
        await expect(page.get_by_role("button", name="Live")).to_be_visible()
        await page.route("**/v1/graphs/drawn*", lambda route: route.abort())
        held = await claim(scene.client, "drawn")
        path = f"/v1/executions/{held['execution']['id']}/complete"
        await ask(scene.client, "POST", path, lease=held["lease"], result=1)
        await expect(page.get_by_role("link", name="a, completed · step")).to_be_visible()


async def test_a_month_of_sleep_leaves_room_for_the_work(scene: Scene) -> None:
    """The server folds idle time; what it says is what is drawn."""
    month = {"start": 0.4, "end": 0.6, "folded": True, "ms": 2_592_000_000}
    work = [{"start": 0.0, "end": 0.4}, {"start": 0.6, "end": 1.0}]

    async def slept(route: Route) -> None:
        view = await (await route.fetch()).json()
        part = view["axis"][0] | {"folded": False, "ms": 1_000}
        span = view["spans"][0] | {"type": "run", "until": part["until"]}
        axis = [part | work[0], part | month, part | work[1]]
        await route.fulfill(json=view | {"axis": axis, "spans": [span | one for one in work]})

    async with visiting(scene) as visit:
        page = visit.page
        await page.route("**/timeline*", slept)
        await visit.open("runs/failing")
        await expect(page.get_by_text("30d idle")).to_be_visible()
        track = await page.locator(".tl-axis .tl-track").bounding_box()
        bars = [await bar.bounding_box() for bar in await page.locator(".tl-bar").all()]
        assert track is not None
        assert sum(bar["width"] for bar in bars if bar) >= 0.6 * track["width"]


async def test_a_long_life_has_few_rows_in_the_page(scene: Scene) -> None:
    """Ten thousand spans scroll to the last one."""

    async def long(route: Route) -> None:
        view = await (await route.fetch()).json()
        spans = [view["spans"][0] | {"label": f"step {number}"} for number in range(10_000)]
        await route.fulfill(json=view | {"spans": spans})

    async with visiting(scene) as visit:
        page = visit.page
        await page.route("**/timeline*", long)
        await visit.open("runs/failing")
        await expect(page.get_by_text("Step 0", exact=True)).to_be_visible()
        timeline = page.locator(".timeline")
        await timeline.evaluate("box => { box.scrollTop = box.scrollHeight }")
        await expect(page.get_by_text("Step 9999", exact=True)).to_be_visible()
        assert await timeline.locator(".tl-row").count() <= 80


async def test_a_dead_letter_is_corrected_and_sent_again(scene: Scene) -> None:
    """A copy of it goes to the queue that it came from."""
    client = scene.client
    await ask(client, "PUT", "/v1/queues/orders-dead", mode="work")
    await ask(client, "PUT", "/v1/queues/orders", mode="work", dead_letter="orders-dead")
    await ask(client, "POST", "/v1/queues/orders/messages", items=[{"payload": {"count": "x"}}])
    read = await ask(client, "POST", "/v1/queues/orders/read", consumer="c")
    refused = [{"handle": read["deliveries"][0]["handle"], "reason": "no number"}]
    await ask(client, "POST", "/v1/queues/orders/reject", items=refused)
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("queues/orders-dead?tab=ready")
        await page.get_by_role("button", name="Edit and send").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_label("Payload").fill('{"count": 2}')
        await dialog.get_by_role("button", name="Edit and send").click()
        await expect(page.get_by_text("A corrected copy is in orders.")).to_be_visible()
    (message,) = (await ask(client, "GET", "/v1/queues/orders/peek"))["items"]
    assert message["payload"] == {"count": 2}


@pytest.mark.timeout(180)
async def test_a_store_that_is_killed_and_comes_back(scene: Scene, tmp_path: Path) -> None:
    """A banner long before calls give up; then the page is right again, without a reload."""
    patient = StoreSettings(call_timeout_ms=10 * PATIENCE_MS)
    with start_server(*PERSISTENT, folder=tmp_path) as first:
        last = first
        store = f"valkey://127.0.0.1:{first.port}"
        try:
            async with (
                open_engine(store, patient) as engine,
                serving(engine, ServerSettings(port=0)) as (_, url),
            ):
                scene.elsewhere = url
                async with visiting(scene) as visit:
                    page = visit.page
                    await page.goto(f"{url}/console/runs")
                    await expect(page.get_by_role("button", name="Live")).to_be_visible()
                    await page.evaluate("window.stayed = true")
                    kill(first)
                    await said(page)
                    last = restart(first, tmp_path)
                    gone = page.get_by_text("Connection lost")
                    await expect(gone).to_have_count(0, timeout=PATIENCE_MS)
                    await engine.submit("after", lane="nobody")
                    await expect(visit.rows).to_have_count(1, timeout=PATIENCE_MS)
                    assert await page.evaluate("window.stayed")
        finally:
            kill(last)


async def said(page: Page) -> None:
    """Wait until the page says that it has no connection."""
    await expect(page.get_by_text("Connection lost")).to_be_visible(timeout=PATIENCE_MS)

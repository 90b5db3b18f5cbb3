"""The console in a real browser: people see what runs, find out why, and act on it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, Request, Route, async_playwright, expect

from holdfast.engine import Engine, open_engine
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.servers import TestServer
from tests.server.test_web_chat_pages import PREFIX, page_of_others
from tests.support.http_servers import ROOT

CHROMIUM = shutil.which("chromium")
AXE = ROOT / "tests" / "support" / "vendor" / "axe.min.js"
#: Every page, and what its heading says.
PAGES = {
    "": "Overview",
    "runs": "Runs",
    "new": "New run",
    "inbox": "Inbox",
    "causes": "Failures",
    "graphs": "Graphs",
    "sessions": "Sessions",
    "deployments": "Deployments",
    "workers": "Workers and lanes",
    "queues": "Queues",
    "queues/letters": "letters",
    "schedules?id=nightly": "Schedules",
    "limits": "Budgets and quotas",
    "archive": "Archive",
    "leases?key=ledger": "Writer leases",
    "keys": "API keys",
    "audit": "Audit log",
    "settings": "Settings",
    "runs/failing": "charge",
    "runs/waiting": "charge",
}
#: Pages that axe reads; CONSOLE_AXE=all makes it read every one.
READ = {"", "runs", "runs/failing", "inbox", "workers", "settings"}
CHECK_ALL = os.environ.get("CONSOLE_AXE") == "all"
#: Exact in JSON, and not in the numbers of JavaScript.
LONG_NUMBER = "12345678901234567891"

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`"),
    pytest.mark.timeout(180),
]


@dataclass(slots=True)
class Scene:
    """A server with work in every state, and a browser."""

    url: str
    engine: Engine
    browser: Browser
    elsewhere: str
    client: httpx.AsyncClient
    #: A server of another store, which has a key.
    keyed: str
    secret: str


async def ask(client: httpx.AsyncClient, method: str, path: str, **body: Any) -> Any:
    """Call, and return the answer."""
    response = await client.request(method, path, json=body)
    assert response.status_code < 300, response.text
    return response.json() if response.content else None


async def claim(client: httpx.AsyncClient, lane: str) -> Any:
    """Claim one execution of a lane."""
    answer = await ask(client, "POST", "/v1/workers/w1/claim", lanes=[lane], lease_ms=600_000)
    return answer["claims"][0]


async def fill(client: httpx.AsyncClient) -> None:
    """Let there be something on every page."""
    worker = {"worker": "shop", "lanes": ["default"], "slots": 4}
    await ask(client, "PUT", "/v1/workers/w1", **worker)
    raw = f'{{"kind":"charge","id":"failing","lane":"one","input":{{"order":{LONG_NUMBER}}}}}'
    headers = {"Content-Type": "application/json"}
    assert (await client.post("/v1/executions", content=raw, headers=headers)).status_code == 201
    held = await claim(client, "one")
    error = {"type": "CardDeclined", "message": "no <b>funds</b>", "retryable": False}
    await ask(client, "POST", "/v1/executions/failing/fail", lease=held["lease"], error=error)
    await ask(client, "POST", "/v1/executions", kind="charge", id="waiting", lane="nobody")
    for number in range(3):
        await ask(client, "POST", "/v1/executions", kind="mail.send", id=f"mail-{number}")
    await ask(client, "PUT", "/v1/queues/letters", mode="work")
    await ask(client, "POST", "/v1/queues/letters/messages", items=[{"payload": {"id": 1}}])
    await ask(client, "POST", "/v1/quotas", id="api", max_concurrent=2)
    limits = {"tokens": {"hard": 100, "soft": 80}}
    await ask(client, "POST", "/v1/budgets", id="llm", limits=limits)
    schedule = {"cron": "30 2 * * 1-5", "execution": {"kind": "report"}}
    await ask(client, "POST", "/v1/schedules", id="nightly", **schedule)
    await ask(client, "POST", "/v1/writer-leases/ledger/acquire", holder="a", ttl_ms=600_000)
    members = [{"key": key, "kind": "step", "lane": "nobody"} for key in ("a", "b")]
    edges = [{"from": "a", "to": "b"}]
    await ask(client, "POST", "/v1/graphs", id="graph", members=members, edges=edges)
    for name in ("first", "second"):
        await question(client, name)


async def question(client: httpx.AsyncClient, name: str) -> None:
    """Let an execution ask for an approval."""
    await ask(client, "POST", "/v1/executions", kind="refund", id=name, lane="ask")
    lease = (await claim(client, "ask"))["lease"]
    wait = {
        "waitpoints": [{"name": "ok", "title": f"Refund {name}?"}],
        "condition": {"waitpoint": "ok"},
        "timeout_ms": 600_000,
    }
    await ask(client, "POST", f"/v1/executions/{name}/suspend", lease=lease, **wait)


@pytest.fixture(scope="module")
async def scene(real_server: TestServer) -> AsyncIterator[Scene]:
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=console{secrets.token_hex(4)}"
    async with (
        open_engine(store) as engine,
        open_engine(f"{store}keyed") as other,
        page_of_others() as (elsewhere, page),
        serving(engine, ServerSettings(port=0)) as (_, url),
        serving(other, ServerSettings(port=0)) as (_, keyed),
        httpx.AsyncClient(base_url=url, timeout=30) as client,
        async_playwright() as playwright,
    ):
        page["url"] = url
        await fill(client)
        _, secret = await other.api_keys.create(roles=["viewer"], tenant="acme", name="ann")
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield Scene(url, engine, browser, elsewhere, client, keyed, secret)
        await browser.close()


@dataclass(slots=True)
class Visit:
    """Pages of one person."""

    scene: Scene
    page: Page
    #: What was asked of the server.
    requests: list[str] = field(default_factory=list)

    async def open(self, path: str) -> None:
        """Open a page of the console."""
        await self.page.goto(f"{self.scene.url}/console/{path}")

    async def go(self, path: str) -> None:
        """Go to a page as a link does, without loading the console again."""
        await self.page.evaluate(
            "a => { history.pushState(null, '', a); dispatchEvent(new Event('popstate')) }",
            f"/console/{path}",
        )

    @property
    def rows(self) -> Any:
        """The rows of the list of runs."""
        return self.page.locator(".virtual tbody tr:not([aria-hidden])")


@contextlib.asynccontextmanager
async def visiting(scene: Scene, **options: Any) -> AsyncIterator[Visit]:
    """Open the browser; a failing script, a refused policy or a foreign request fails the test."""
    context = await scene.browser.new_context(**options)
    problems: list[str] = []
    await context.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.blockedURI))"
    )
    visit = Visit(scene, await context.new_page())
    ours = (scene.url, scene.elsewhere, scene.keyed, "data:", "blob:")

    def requested(request: Request) -> None:
        visit.requests.append(request.url)
        if not request.url.startswith(ours):
            problems.append(request.url)

    context.on("request", requested)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("console", lambda line: problems.append(line.text) if "CSP" in line.text else None)
    yield visit
    await context.close()
    assert problems == []


async def serious(page: Page, **options: Any) -> list[str]:
    """Return what axe finds serious."""
    found = await page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]


async def read_by_all(page: Page) -> list[str]:
    """Return what hinders people, in both themes."""
    found = await serious(page)
    await page.emulate_media(color_scheme="dark")
    found += await serious(page, runOnly=["color-contrast"])
    await page.emulate_media(color_scheme="light")
    return found


async def test_every_page_shows_and_can_be_read_by_all(scene: Scene) -> None:
    """In both themes; on a phone without scrolling sideways."""
    async with visiting(scene, bypass_csp=True) as visit:
        page = visit.page
        await visit.open("")
        await page.evaluate("source => { new Function(source)() }", AXE.read_text("utf-8"))
        hindrances, wide = {}, {}
        for path, heading in PAGES.items():
            await visit.go(path)
            await expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            await expect(page.locator("main [aria-busy]")).to_have_count(0)
            if path in READ or CHECK_ALL:
                hindrances[path] = await read_by_all(page)
        await page.set_viewport_size({"width": 390, "height": 844})
        for path, heading in PAGES.items():
            await visit.go(path)
            await expect(page.get_by_role("heading", level=1)).to_have_text(heading)
            await expect(page.locator("main [aria-busy]")).to_have_count(0)
            wide[path] = await page.evaluate(
                "() => ['html', '.stage'].map(s => document.querySelector(s))"
                ".reduce((sum, e) => sum + e.scrollWidth - e.clientWidth, 0)"
            )
        assert {path: found for path, found in hindrances.items() if found} == {}
        assert {path: by for path, by in wide.items() if by} == {}


async def test_runs_are_filtered_by_the_address(scene: Scene) -> None:
    """What is typed is in the address; a reload and a shared link show the same."""
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs")
        await expect(visit.rows).to_have_count(9)
        field_ = page.get_by_label("Filter", exact=True)
        await field_.fill("kind:mail.send")
        await field_.press("Enter")
        await expect(visit.rows).to_have_count(3)
        await expect(page).to_have_url(re.compile(r"/console/runs\?kind=mail.send$"))
        await page.get_by_role("link", name="Failed").click()
        await expect(page.get_by_text("No run fits these filters")).to_be_visible()
        await page.get_by_role("button", name="Remove kind mail.send").click()
        await expect(visit.rows).to_have_count(1)
        await page.reload()
        await expect(visit.rows).to_have_count(1)
        await expect(visit.rows).to_contain_text("CardDeclined")
        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("/console/runs/failing$"))
        await page.go_back()
        await expect(visit.rows).to_have_count(1)


async def test_a_run_says_why_and_can_be_cancelled(scene: Scene) -> None:
    """Errors first, exact digits, text as text; an action asks, and shows its commands."""
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("")
        await expect(page.get_by_role("button", name="Live")).to_be_visible()
        await page.keyboard.press("/")
        await page.keyboard.insert_text("failing")
        await expect(page.locator(".palette li").first).to_contain_text("charge failing")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Error")).to_contain_text("CardDeclined")
        await expect(page.get_by_text("no <b>funds</b>")).to_be_visible()
        await expect(page.get_by_text(LONG_NUMBER)).to_be_visible()
        await visit.open("runs/waiting")
        await expect(page.get_by_label("Why")).to_contain_text("nobody")
        await page.get_by_role("button", name="Cancel run").click()
        dialog = page.get_by_role("dialog")
        await dialog.get_by_role("textbox", name="Reason").fill("not wanted")
        await dialog.get_by_text("The same from a terminal").click()
        await expect(dialog).to_contain_text("holdfast cancel waiting --reason 'not wanted'")
        await expect(dialog).to_contain_text(f"{scene.url}/v1/executions/waiting/cancel")
        await dialog.get_by_role("button", name="Cancel run").click()
        await expect(page.locator(".page-head .chip")).to_have_text("Cancelled")
        await expect(page.get_by_text("not wanted")).to_be_visible()


async def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until something has the focus."""
    await expect(target).to_be_visible()
    for _ in range(100):
        await page.keyboard.press("Tab")
        if await target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"no Tab leads to {target}")


async def test_selected_runs_are_cancelled_by_keyboard(scene: Scene) -> None:
    """Two rows, a reason, a confirmation; each is cancelled."""
    for number in range(2):
        await ask(scene.client, "POST", "/v1/executions", kind="unwanted", id=f"un-{number}")
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs?kind=unwanted")
        await expect(visit.rows).to_have_count(2)
        for name in ("1 run selected", "2 runs selected"):
            await page.keyboard.press("j")
            await page.keyboard.press("x")
            await expect(page.get_by_text(name)).to_be_visible()
        cancel = page.locator(".bulk").get_by_role("button", name="Cancel")
        await tab_to(page, cancel)
        await page.keyboard.press("Enter")
        await tab_to(page, page.get_by_role("textbox", name="Reason"))
        await page.keyboard.insert_text("not needed")
        await page.keyboard.press("Enter")
        await expect(visit.rows.filter(has_text="Cancelled")).to_have_count(2)


async def test_keys_work_from_the_moment_rows_are_there(scene: Scene) -> None:
    """A key that comes with the first row already moves to it."""
    async with visiting(scene) as visit:
        await visit.page.add_init_script(
            """new MutationObserver((_, observer) => {
                if (!document.querySelector(".virtual tbody tr")) return;
                observer.disconnect();
                document.dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
            }).observe(document, { childList: true, subtree: true });"""
        )
        await visit.open("runs?kind=charge")
        await expect(visit.page.locator(".virtual tr.chosen")).to_have_count(1)


async def test_all_runs_that_match_are_cancelled_as_a_run(scene: Scene) -> None:
    """The dialog shows the count and the command; the page of the action shows how far it is."""
    items = [{"kind": "spam", "id": f"spam-{number}"} for number in range(12)]
    await ask(scene.client, "POST", "/v1/executions:batch", items=items)
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs?kind=spam&state=waiting")
        await expect(visit.rows).to_have_count(12)
        await page.get_by_text("All 12 that match").click()
        await page.get_by_role("button", name="Cancel …").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("Cancel: 12 runs")
        await dialog.get_by_role("textbox", name="Reason").fill("junk")
        await dialog.get_by_text("The same from a terminal").click()
        await expect(dialog).to_contain_text("holdfast bulk cancel --state waiting --kind spam")
        await expect(dialog.get_by_role("button", name="Cancel 12")).to_be_disabled()
        await dialog.get_by_label("to confirm").fill("12")
        await dialog.get_by_role("button", name="Cancel 12").click()
        heading = page.get_by_role("heading", level=1)
        await expect(heading).to_contain_text("holdfast.bulk", timeout=30_000)
        await expect(page.locator(".page-head .chip")).to_have_text("Completed", timeout=30_000)
        await visit.open("runs?kind=spam&state=cancelled")
        await expect(visit.rows).to_have_count(12)


async def test_views_are_kept_in_the_store(scene: Scene) -> None:
    """A view that one browser saves is there in another, until it is removed."""
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs?state=failed")
        await page.get_by_text("Views").click()
        await page.get_by_label("Name of the view").fill("My failures")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("button", name="My failures", exact=True)).to_be_visible()
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs")
        await page.get_by_text("Views").click()
        await page.get_by_role("button", name="My failures", exact=True).click()
        await expect(page).to_have_url(f"{scene.url}/console/runs?state=failed")
        await page.get_by_role("button", name="Remove the view My failures").click()
        await expect(page.get_by_role("button", name="My failures", exact=True)).to_have_count(0)


async def test_questions_are_answered_by_keyboard(scene: Scene) -> None:
    """Next, approve, confirm; the next question is there at once."""
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("inbox")
        await expect(page.locator(".desk-item")).to_have_count(2)
        await page.keyboard.press("j")
        await expect(page.locator(".desk-item[aria-current]")).to_contain_text("second")
        await page.keyboard.press("a")
        await expect(page.get_by_text("Press Enter to approve")).to_be_visible()
        await page.keyboard.press("Enter")
        await expect(page.locator(".desk-item")).to_have_count(1)
        answer = await ask(scene.client, "GET", "/v1/executions/second/signals")
        (signal,) = answer["items"]
        assert (signal["name"], signal["payload"]) == ("approve", {"approved": True})


async def test_it_works_behind_a_prefix(scene: Scene) -> None:
    """Pages, links, calls and the feed are below it."""
    prefix = PREFIX.decode()
    async with visiting(scene) as visit:
        page = visit.page
        await page.goto(f"{scene.elsewhere}{prefix}/console")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        await page.get_by_role("link", name="Runs", exact=True).click()
        await page.get_by_role("link", name="Failed").click()
        await expect(page).to_have_url(re.compile("state=failed"))
        await visit.rows.filter(has_text="failing").get_by_role("link").first.click()
        await expect(page.get_by_label("Error")).to_be_visible()
        await page.reload()
        await expect(page.get_by_label("Error")).to_be_visible()
        assert all(f"{scene.elsewhere}{prefix}/" in url for url in visit.requests[1:])


@pytest.mark.parametrize("path", ["", "runs"])
async def test_a_page_takes_what_its_document_asked_for(scene: Scene, path: str) -> None:
    """The script finds the first answers there, and asks for none of them a second time."""
    async with visiting(scene) as visit:
        await visit.open(path)
        await expect(visit.page.get_by_role("button", name="Live")).to_be_visible()
        links = visit.page.locator("link[as=fetch]")
        early = await links.evaluate_all("all => all.map((one) => new URL(one.href).pathname)")
        asked = [urlsplit(url).path for url in visit.requests]
        asked = asked[: asked.index("/v1/events")]
        assert "/v1/me" in early
        assert {one: asked.count(one) for one in early} == dict.fromkeys(early, 1)


async def test_eight_tabs_share_a_connection(scene: Scene) -> None:
    """Browsers open six to a server, and the seventh tab would never load."""
    async with visiting(scene) as visit:
        pages = [visit.page, *[await visit.page.context.new_page() for _ in range(7)]]
        for page in pages:
            await page.goto(f"{scene.url}/console/runs?kind=tabbed")
            await expect(page.get_by_role("button", name="Live")).to_be_visible()
        assert len([url for url in visit.requests if "/v1/events" in url]) == 1
        await ask(scene.client, "POST", "/v1/executions", kind="tabbed", lane="nobody")
        for page in (pages[0], pages[7]):
            await expect(page.locator(".virtual tbody tr")).to_have_count(1)


async def test_ten_thousand_rows(scene: Scene) -> None:
    """Few of them are in the page at a time."""
    (example,) = (await ask(scene.client, "GET", "/v1/executions?kind=charge&limit=1"))["items"]

    async def many(route: Route) -> None:
        at = int((re.findall(r"cursor=(\d+)", route.request.url) or ["0"])[0])
        size = int(re.findall(r"limit=(\d+)", route.request.url)[0])
        end = min(at + size, 10_000)
        items = [{**example, "id": f"run-{number}"} for number in range(at, end)]
        cursor = str(end) if end < 10_000 else None
        await route.fulfill(json={"items": items, "next_cursor": cursor})

    async with visiting(scene) as visit:
        await visit.page.route("**/v1/executions?*", many)
        await visit.open("runs")
        await expect(visit.rows.first).to_contain_text("run-0")
        box = visit.page.locator(".virtual")
        foot = visit.page.locator(".list-foot")
        for loaded in range(560, 10_061, 500):
            await box.evaluate("box => { box.scrollTop = box.scrollHeight }")
            await expect(foot).to_contain_text(f"{min(loaded, 10_000):,}")
        await box.evaluate("box => { box.scrollTop = box.scrollHeight }")
        await expect(visit.rows.last).to_contain_text("run-9999")
        assert await visit.rows.count() <= 80


async def test_a_person_logs_in_with_a_key(scene: Scene) -> None:
    """The key becomes a cookie that scripts cannot read; the server knows what it may do."""
    async with visiting(scene) as visit:
        page = visit.page
        await page.goto(f"{scene.keyed}/console/runs")
        await page.get_by_label("API key").fill("hf_wrong")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await page.get_by_label("API key").fill(scene.secret)
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Runs")
        assert await page.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}"
        (cookie,) = await page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        await page.goto(f"{scene.keyed}/console/keys")
        await expect(page.get_by_text("You may not see this")).to_be_visible()
        await page.get_by_role("button", name="Log out").click()
        await expect(page.get_by_label("API key")).to_be_visible()


async def test_a_lost_connection_is_said_and_comes_back(scene: Scene) -> None:
    """A banner while it lasts; then the page is right again without a reload."""
    async with visiting(scene) as visit:
        page = visit.page
        await visit.open("runs?kind=later")
        await expect(page.get_by_role("button", name="Live")).to_be_visible()
        await page.context.set_offline(True)
        await expect(page.get_by_text("Connection lost")).to_be_visible()
        await ask(scene.client, "POST", "/v1/executions", kind="later", lane="nobody")
        await page.context.set_offline(False)
        await expect(visit.rows).to_have_count(1)
        await expect(page.get_by_text("Connection lost")).to_have_count(0)

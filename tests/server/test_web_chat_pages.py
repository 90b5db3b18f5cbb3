"""The web chat in a real browser: people talk, reload, lose their connection, and lose nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Request,
    Route,
    async_playwright,
    expect,
)

from holdfast.engine import Engine, open_engine
from holdfast.model.files import FileLimits
from holdfast.server.chat.doors import EVERY, Door
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.servers import TestServer
from tests.support.http_servers import ROOT, holdfast_process

CHROMIUM = shutil.which("chromium")
AXE = ROOT / "tests" / "support" / "vendor" / "axe.min.js"
WORDS = [f"w{number}" for number in range(40)]
#: A page of others that shows the chat; its policy allows no inline script.
HOST_PAGE = """<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1>
<script src="{url}/chat/embed.js" data-deployment="bot" data-title="Help"></script>
"""
PREFIX = b"/hold/fast"
HOST_POLICY = "default-src 'none'; script-src {url}; frame-src {url}; style-src 'none'"

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`"),
    pytest.mark.timeout(180),
]


@dataclass(slots=True)
class Scene:
    """A server, a worker that can be killed, and a browser."""

    url: str
    engine: Engine
    browser: Browser
    #: Where the page of others is.
    elsewhere: str
    folder: Path
    store: str

    @property
    def chat(self) -> str:
        """The address of the chat."""
        return f"{self.url}/chat/local/bot"

    @property
    def gate(self) -> Path:
        """While it does not exist, a streamed reply waits in its middle."""
        return self.folder / "gate"

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[Any]:
        """Run a worker; its lease is short, so that another continues soon."""
        options = ("tests.support.chat_bot:app", "--store", self.store, "--lease", "1s")
        environment = {"CHAT_GATE": str(self.gate)}
        async with holdfast_process(self.folder, ROOT, "worker", *options, **environment) as (
            _,
            process,
        ):
            yield process


async def forward(
    url: str, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass a call on without its prefix, as a proxy does."""
    there, back = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
        await _close(target)

    back.write(head.replace(PREFIX, b"", 1).replace(b"keep-alive", b"close"))
    await asyncio.gather(copy(reader, back), copy(there, writer))


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def _response(page: dict[str, str]) -> bytes:
    body = page["html"].encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
    policy = f"Content-Security-Policy: {page['policy']}\r\nConnection: close\r\n\r\n"
    return f"{head}{policy}".encode() + body


@contextlib.asynccontextmanager
async def page_of_others() -> AsyncIterator[tuple[str, dict[str, str]]]:
    """Serve a page from an origin of its own, and below a prefix everything of the server."""
    page: dict[str, str] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A browser may open a connection and never use it.
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            if PREFIX in head.partition(b"\r\n")[0]:
                await forward(page["url"], head, reader, writer)
            else:
                writer.write(_response(page))
                await writer.drain()
        await _close(writer)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}", page


@pytest.fixture(scope="module")
async def scene(
    real_server: TestServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Scene]:
    folder = tmp_path_factory.mktemp("chat")
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=webchat"
    async with (
        open_engine(store) as engine,
        page_of_others() as (elsewhere, page),
        serving(
            engine,
            ServerSettings(
                port=0,
                web_chats=(Door(env="local", name=EVERY),),
                web_chat_origins=(elsewhere,),
                web_chat_rate=1_000,
                web_chat_files=FileLimits(most_bytes=200_000),
            ),
        ) as (_, url),
        async_playwright() as playwright,
    ):
        page["url"] = url
        page["html"] = HOST_PAGE.format(url=url)
        page["policy"] = HOST_POLICY.format(url=url)
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield Scene(url, engine, browser, elsewhere, folder, store)
        await browser.close()


@pytest.fixture(scope="module")
async def worker(scene: Scene) -> AsyncIterator[None]:
    """A worker that most tests share."""
    async with scene.worker():
        yield


@dataclass(slots=True)
class Visitor:
    """Someone at a page."""

    context: BrowserContext
    page: Page

    async def say(self, text: str) -> None:
        """Write something, and press Enter."""
        box = self.page.get_by_role("textbox", name="Write a message")
        await box.fill(text)
        await box.press("Enter")

    @property
    def replies(self) -> Locator:
        """What was answered, as whole lines."""
        return self.page.locator(".line.out:not(.draft, .typing) .bubble")

    async def sees(self, text: str) -> None:
        """Wait for a reply."""
        await expect(self.replies.filter(has_text=text)).to_have_count(1)

    async def texts(self) -> list[str]:
        """Return every line, in order."""
        return await self.page.locator(".line:not(.typing) .bubble").all_inner_texts()


@contextlib.asynccontextmanager
async def visiting(scene: Scene, chat: str | None = None, **options: Any) -> AsyncIterator[Visitor]:
    """Open the chat; anything that fails on the page, and any request elsewhere, fails the test."""
    context = await scene.browser.new_context(**options)
    problems: list[str] = []
    await context.add_init_script(
        "addEventListener('securitypolicyviolation', (e) => console.error('CSP', e.blockedURI))"
    )

    def requested(request: Request) -> None:
        if not request.url.startswith((scene.url, scene.elsewhere, "data:", "blob:")):
            problems.append(request.url)

    context.on("request", requested)
    context.on("weberror", lambda error: problems.append(str(error.error)))
    context.on("console", lambda line: problems.append(line.text) if "CSP" in line.text else None)
    visitor = Visitor(context, await context.new_page())
    await visitor.page.goto(chat or scene.chat)
    yield visitor
    await context.close()
    assert problems == []


@pytest.fixture
async def visitor(scene: Scene, worker: None) -> AsyncIterator[Visitor]:
    scene.gate.unlink(missing_ok=True)
    async with visiting(scene) as visitor:
        yield visitor


async def test_a_visitor_talks(scene: Scene, visitor: Visitor) -> None:
    """Text, buttons that stay, a form, a card, Markdown as nodes; all of it after a reload."""
    page = visitor.page
    await visitor.say("hello")
    await visitor.sees("You said hello.")
    await visitor.say("choose")
    await page.get_by_role("button", name="Large").click()
    await visitor.sees("You chose l.")
    for name, pressed in (("Large", "true"), ("Small", "false")):
        button = page.get_by_role("button", name=name)
        await expect(button).to_be_disabled()
        await expect(button).to_have_attribute("aria-pressed", pressed)
    await visitor.say("form")
    await page.get_by_label("Your name").fill("Ann")
    await page.locator("form.form").get_by_role("button").click()
    await expect(page.get_by_text("Please fill this in.")).to_have_count(2)
    await page.get_by_label("Size").select_option("large")
    await page.get_by_label("Amount").fill("77")
    await page.locator("form.form").get_by_role("button").click()
    # The conversation refuses what does not fit, and what was written is still there.
    await expect(page.get_by_label("Your name")).to_have_value("Ann")
    await page.get_by_label("Amount").fill("3")
    await page.locator("form.form").get_by_role("button").click()
    await visitor.sees("3 large for Ann.")
    await visitor.say("card")
    await expect(page.locator(".card-title")).to_have_text("Order 17")
    await visitor.say("markdown")
    reply = visitor.replies.last
    await expect(reply.locator("strong")).to_have_text("bold")
    await expect(reply).to_contain_text("<b>raw</b>")
    await expect(reply.locator("a")).to_have_count(1)
    await expect(reply.locator("li")).to_have_text(["one", "two"])
    before = await visitor.texts()
    await page.reload()
    await expect(page.locator(".line .bubble")).to_have_count(len(before))
    assert await visitor.texts() == before


async def test_a_reload_and_a_second_tab_in_mid_answer(scene: Scene, visitor: Visitor) -> None:
    """Both continue in mid-sentence, and are in step at the end; a reader hears it once."""
    await visitor.say("stream")
    draft = visitor.page.locator(".draft")
    await expect(draft).to_contain_text("w19")
    await expect(draft).to_have_attribute("aria-hidden", "true")
    await visitor.page.reload()
    await expect(draft).to_contain_text("w0 w1 w2")
    await expect(draft).to_contain_text("w19")
    second = Visitor(visitor.context, await visitor.context.new_page())
    await second.page.goto(scene.chat)
    await expect(second.page.locator(".draft")).to_contain_text("w19")
    # What is said meanwhile stands below the answer that is being written, and stays there.
    await second.say("meanwhile")
    await expect(second.page.locator(".draft + .pending")).to_contain_text("meanwhile")
    scene.gate.touch()
    for one in (visitor, second):
        await one.sees("You said meanwhile.")
        await expect(one.page.locator(".draft")).to_have_count(0)
        _, answer, *rest = await one.texts()
        assert answer.split() == WORDS
        assert rest == ["meanwhile", "You said meanwhile."]
    await second.say("from the second tab")
    for one in (visitor, second):
        await one.sees("You said from the second tab.")
    assert await visitor.texts() == await second.texts()


async def test_a_second_tab_that_was_open_before_the_first_message(
    scene: Scene, visitor: Visitor
) -> None:
    """It learns that the conversation has begun, and that it starts over."""
    second = Visitor(visitor.context, await visitor.context.new_page())
    await second.page.goto(scene.chat)
    await expect(second.page.get_by_text("Write a message to start.")).to_be_visible()
    await visitor.say("hello")
    await second.sees("You said hello.")
    await visitor.page.bring_to_front()
    await visitor.page.get_by_role("button", name="Start over").click()
    await visitor.page.locator("dialog").get_by_role("button", name="Start over").click()
    for one in (visitor, second):
        await expect(one.page.get_by_text("Write a message to start.")).to_be_visible()
        assert await one.texts() == []
    await second.say("once more")
    for one in (visitor, second):
        await one.sees("You said once more.")
        assert await one.texts() == ["once more", "You said once more."]


async def test_many_tabs_share_a_connection(scene: Scene, visitor: Visitor) -> None:
    """Browsers allow six to a server; when the tab that reads is closed, another does."""
    await visitor.say("hello")
    await visitor.sees("You said hello.")
    tabs = [visitor]
    for _ in range(7):
        tabs.append(Visitor(visitor.context, await visitor.context.new_page()))
        await tabs[-1].page.goto(scene.chat)
        await tabs[-1].sees("You said hello.")
    await visitor.page.close()
    await tabs[-1].say("more")
    for tab in tabs[1:]:
        await tab.sees("You said more.")


async def test_offline_and_back(scene: Scene, visitor: Visitor) -> None:
    """Messages wait, in order, also over a reload of the page, and are delivered once."""
    await visitor.say("one")
    await visitor.sees("You said one.")
    await visitor.context.set_offline(True)
    await expect(visitor.page.get_by_role("status")).to_contain_text("Offline")
    await visitor.say("two")
    await visitor.say("three")
    await expect(visitor.page.get_by_text("Waiting to send")).to_have_count(2)
    await visitor.context.set_offline(False)
    await visitor.sees("You said three.")
    await expect(visitor.page.get_by_role("status")).to_contain_text("Online")
    said = ["one", "You said one.", "two", "You said two.", "three", "You said three."]
    assert sorted(await visitor.texts()) == sorted(said)


async def test_a_failed_send_is_tried_again_with_the_same_id(
    scene: Scene, visitor: Visitor
) -> None:
    """An answer that is lost on its way, and a refusal: the message is delivered once."""
    ids: list[str] = []

    async def interfere(route: Route) -> None:
        ids.append(json.loads(route.request.post_data or "")["id"])
        if len(ids) == 1:
            await route.fetch()  # the server has it, and the page does not know
            await route.abort()
        elif len(ids) == 3:
            await route.fulfill(status=409, json={"code": "session_busy", "detail": "busy"})
        else:
            await route.continue_()

    await visitor.page.route("**/messages", interfere)
    await visitor.say("hello")
    await visitor.sees("You said hello.")
    await visitor.say("again")
    failed = visitor.page.locator(".pending.failed")
    await expect(failed).to_contain_text("still being answered")
    await failed.get_by_role("button", name="Try again").click()
    await visitor.sees("You said again.")
    first, second, third, fourth = ids
    assert (first, third) == (second, fourth)
    assert await visitor.texts() == ["hello", "You said hello.", "again", "You said again."]


async def test_a_worker_that_is_killed_in_mid_answer(scene: Scene) -> None:
    """Another writes the answer again, under the same number: nothing is lost or doubled."""
    scene.gate.unlink(missing_ok=True)
    async with contextlib.AsyncExitStack() as stack:
        process = await stack.enter_async_context(scene.worker())
        visitor = await stack.enter_async_context(visiting(scene))
        await visitor.say("stream")
        await expect(visitor.page.locator(".draft")).to_contain_text("w19")
        process.kill()
        await process.wait()
        scene.gate.touch()
        await stack.enter_async_context(scene.worker())
        await expect(visitor.replies.filter(has_text="w39")).to_have_count(1)
        assert (await visitor.texts())[-1].split() == WORDS
        await visitor.say("after")
        await visitor.sees("You said after.")


async def test_a_person_takes_over(scene: Scene, visitor: Visitor) -> None:
    """The page says who answers, and shows what the person writes; notes stay with operators."""
    await visitor.say("person")
    await expect(visitor.page.get_by_role("status")).to_contain_text("Ann is answering")
    await visitor.say("Is anyone there?")
    page = await scene.engine.sessions.list(tenant="default", limit=1)
    session = page.items[0].id
    await scene.engine.sessions.say(session, b'{"text":"Hello, this is Ann."}', author="Ann")
    await visitor.sees("Hello, this is Ann.")
    await expect(visitor.page.locator(".author")).to_have_text("Ann")
    await scene.engine.sessions.handover(session, None)
    await visitor.sees("I am back.")
    await expect(visitor.page.get_by_text("refund")).to_have_count(0)


async def test_a_page_of_others_shows_the_chat(scene: Scene, visitor: Visitor) -> None:
    """A launcher, a frame that is loaded when it is opened, and keys; its policy is strict."""
    page = visitor.page
    await page.goto(scene.elsewhere)
    frames = page.locator("holdfast-chat iframe")
    await expect(frames).to_have_count(0)
    await page.get_by_role("button", name="Open Help").press("Enter")
    frame = page.frame_locator("holdfast-chat iframe")
    box = frame.get_by_role("textbox", name="Write a message")
    await expect(box).to_be_focused()
    await box.fill("hello")
    await box.press("Enter")
    await expect(frame.get_by_text("You said hello.")).to_be_visible()
    await expect(frame.get_by_role("heading", name="Help")).to_be_visible()
    await box.press("Escape")
    await expect(frames).to_be_hidden()
    await expect(page.get_by_role("button", name="Open Help")).to_be_focused()
    await page.evaluate("holdfastChat.send('by script')")
    await expect(page.get_by_role("button", name="Open Help, 1 new")).to_be_visible()
    await page.evaluate("holdfastChat.open()")
    await expect(frame.get_by_text("You said by script.")).to_be_visible()


async def test_an_origin_that_is_not_allowed_cannot_frame_it(scene: Scene) -> None:
    """The browser refuses."""
    context = await scene.browser.new_context()
    page = await context.new_page()
    refused: list[str] = []
    page.on("console", lambda line: refused.append(line.text))
    await page.goto(f"{scene.elsewhere.replace('localhost', '127.0.0.1')}/")
    await page.get_by_role("button", name="Open Help").click()
    frame = page.frame_locator("holdfast-chat iframe")
    await expect(frame.get_by_role("textbox")).to_have_count(0)
    await context.close()
    assert any("frame-ancestors" in line for line in refused)


async def test_behind_a_prefix(scene: Scene, visitor: Visitor) -> None:
    """A proxy may serve it below any path: the page, its files, its calls and its cookie."""
    await visitor.page.goto(f"{scene.elsewhere}{PREFIX.decode()}/chat/local/bot")
    await visitor.say("hello")
    await visitor.sees("You said hello.")
    await visitor.page.reload()
    await visitor.sees("You said hello.")
    paths = {cookie["path"] for cookie in await visitor.context.cookies()}
    assert f"{PREFIX.decode()}/chat/local/bot" in paths


async def test_a_reader_is_not_pulled_down(visitor: Visitor) -> None:
    """While they read above, new replies are counted; earlier lines are fetched on demand."""
    page = visitor.page
    for number in range(30):
        await visitor.say(f"line {number}")
    await visitor.sees("You said line 29.")
    await page.reload()
    log = page.locator(".log")
    await expect(page.get_by_role("button", name="Earlier messages")).to_be_visible()
    await page.get_by_role("button", name="Earlier messages").click()
    await visitor.sees("You said line 0.")
    await expect(page.locator(".line .bubble")).to_have_count(60)
    await log.evaluate("(element) => element.scrollTo(0, 0)")
    second = await visitor.context.new_page()
    await second.goto(page.url)
    await Visitor(visitor.context, second).say("more")
    await page.bring_to_front()
    await expect(page.get_by_role("button", name="1 new")).to_be_visible()
    assert await log.evaluate("(element) => element.scrollTop") < 10
    await page.get_by_role("button", name="1 new").click()
    await expect(page.get_by_role("button", name="1 new")).to_have_count(0)


async def test_by_keyboard_alone(visitor: Visitor) -> None:
    """Write, choose, fill in a form and start over without a pointer."""
    page, keys = visitor.page, visitor.page.keyboard
    box = page.get_by_role("textbox", name="Write a message")
    await expect(box).to_be_focused()
    await keys.type("choose")
    await keys.press("Enter")
    await expect(page.get_by_role("button", name="Small")).to_be_enabled()
    for _ in range(2):
        # The button that attaches files stands between.
        await keys.press("Shift+Tab")
    await expect(page.get_by_role("button", name="Large")).to_be_focused()
    await keys.press("Enter")
    await visitor.sees("You chose l.")
    await box.focus()
    await keys.type("form")
    await keys.press("Enter")
    await expect(page.get_by_label("Your name")).to_be_visible()
    for _ in range(6):
        await keys.press("Shift+Tab")
    await expect(page.get_by_label("Your name")).to_be_focused()
    await keys.type("Ben")
    await keys.press("Tab")
    await keys.press("s")
    await keys.press("Tab")
    await keys.type("2")
    await keys.press("Enter")
    await visitor.sees("2 small for Ben.")
    await page.get_by_role("button", name="Start over").focus()
    await keys.press("Enter")
    await keys.press("Escape")
    await expect(page.locator("dialog")).to_be_hidden()
    await expect(page.get_by_role("button", name="Start over")).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_accessibility(theme: Any, scene: Scene, worker: None) -> None:
    """Nothing serious in either theme, at the width of a phone, which nothing overflows."""
    scene.gate.unlink(missing_ok=True)
    options = {"color_scheme": theme, "viewport": {"width": 390, "height": 700}}
    async with visiting(scene, bypass_csp=True, **options) as visitor:
        page = visitor.page
        for text in ("markdown", "card", "choose"):
            await visitor.say(text)
            await expect(page.locator(".line.in")).not_to_have_count(0)
        await page.get_by_role("button", name="Large").click()
        await visitor.sees("You chose l.")
        await visitor.say("form")
        await expect(page.get_by_label("Your name")).to_be_visible()
        await page.evaluate(AXE.read_text())
        found = await page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
        grave = [one for one in found["violations"] if one["impact"] in {"serious", "critical"}]
        assert [(one["id"], one["nodes"][0]["html"]) for one in grave] == []
        assert found["passes"]
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width == 390
        for box in await page.locator("button, .button").all():
            size = await box.bounding_box()
            assert size is None or size["height"] >= 44


async def test_right_to_left(visitor: Visitor, scene: Scene) -> None:
    """The page turns around, speaks the language, and takes its looks from its address."""
    page = visitor.page
    await page.goto("about:blank")
    await page.goto(f"{scene.chat}#lang=ar&title=%D8%A7%D9%84%D8%AF%D8%B9%D9%85&accent=%230a7")
    await expect(page.locator("html")).to_have_attribute("dir", "rtl")
    await expect(page.get_by_role("status")).to_have_text("متصل")
    box = page.get_by_role("textbox", name="اكتب رسالة")
    await box.fill("hello")
    await box.press("Enter")
    await visitor.sees("You said hello.")
    mine, theirs = page.locator(".line.in .bubble"), page.locator(".line.out .bubble")
    left, right = await mine.bounding_box(), await theirs.bounding_box()
    assert left is not None
    assert right is not None
    assert left["x"] < right["x"]
    colour = await mine.evaluate("(bubble) => getComputedStyle(bubble).backgroundColor")
    assert colour == "rgb(0, 170, 119)"


def test_axe_is_the_version_that_the_pages_pin() -> None:
    """So that an update of one is an update of the other."""
    pinned = json.loads((ROOT / "pages" / "package.json").read_text())["devDependencies"]
    assert AXE.read_text()[:20].startswith(f"/*! axe v{pinned['axe-core']}")

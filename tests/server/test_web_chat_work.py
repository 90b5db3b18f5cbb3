"""The web chat in a real browser: files that visitors send, and packs whose host is killed."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from holdfast.host import packs
from holdfast.model.revisions import Lifecycle
from tests.server.test_web_chat_pages import (
    AXE,
    CHROMIUM,
    Scene,
    Visitor,
    scene,
    visiting,
    visitor,
    worker,
)
from tests.support.hosting import SHOP, reached, shift, stage
from tests.support.http_servers import ROOT, holdfast_process
from tests.support.models import KEY, Models, text
from tests.support.packs import pack_of

__all__ = ["scene", "visitor", "worker"]

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`"),
    pytest.mark.timeout(180),
]

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGPQCLzxnwEIGBhgDIZV16/8BwAyWgT"
    "Zkwq0HgAAAABJRU5ErkJggg=="
)
WORDS = [f"w{number} " for number in range(40)]
PACK = """\
id: shop
version: 1.0.0
entry: main
secrets: [MODEL_KEY]
models:
  small: {{base_url: "http://127.0.0.1:{port}/v1", model: tiny, key_secret: MODEL_KEY}}
"""
FLOW = """\
id: main
type: messaging
nodes:
  think: {llm: {model: small, max_tokens: 50, reply: true}, out: more}
  more:
    emit: {text: "That was all.", files: [{url: "https://example.org/a.pdf", name: a.pdf}]}
    out: again
  again: {wait: {}, out: think}
"""
#: Gives files to the page as a drop or a paste does.
GIVE = """(target, [kind, name, type, size]) => {
  const given = new DataTransfer();
  given.items.add(new File(["x".repeat(size)], name, { type }));
  const init = { bubbles: true, cancelable: true };
  target.dispatchEvent(
    kind === "paste"
      ? new ClipboardEvent("paste", { ...init, clipboardData: given })
      : new DragEvent(kind, { ...init, dataTransfer: given }),
  );
}"""


async def choose(page: Page, *files: dict[str, Any]) -> None:
    """Press the button, and choose files."""
    async with page.expect_file_chooser() as choosing:
        await page.get_by_role("button", name="Attach files").click()
    await (await choosing.value).set_files(list(files))  # type: ignore[arg-type]


async def test_a_visitor_sends_files(scene: Scene, visitor: Visitor) -> None:
    """Chosen, dropped, pasted; shown in both directions, also after a reload; saved as sent."""
    page = visitor.page
    picture = {"name": "photo.png", "mimeType": "image/png", "buffer": PNG}
    await choose(page, picture)
    await expect(page.get_by_role("list", name="Files")).to_contain_text("photo.png")
    await page.locator(".chat").evaluate(GIVE, ["dragover", "a.txt", "text/plain", 1])
    await expect(page.get_by_text("Drop files here")).to_be_visible()
    await page.locator(".chat").evaluate(GIVE, ["drop", "list.csv", "text/csv", 1500])
    await expect(page.get_by_text("Drop files here")).to_be_hidden()
    await page.locator("#message").evaluate(GIVE, ["paste", "note.txt", "text/plain", 10])
    await expect(page.locator(".upload .icon-check")).to_have_count(3)
    await visitor.say("")
    await visitor.sees(f"I have [{len(PNG)}, 1500, 10] bytes.")
    await expect(page.locator(".tray")).to_have_count(0)
    for _ in range(2):
        await expect(page.locator(".line.in .file")).to_have_count(3)
        await expect(page.locator(".line.out .file")).to_have_count(3)
        drawn = await page.locator(".line.in img").evaluate("(image) => image.decode()")
        assert drawn is None
        await page.reload()
    async with page.expect_download() as saving:
        await page.locator(".line.in .file", has_text="note.txt").click()
    saved = await saving.value
    assert saved.suggested_filename == "note.txt"
    content = Path(await saved.path()).read_bytes()  # noqa: ASYNC240 - a small file
    assert content == b"x" * 10


async def test_a_file_that_is_not_taken(scene: Scene, visitor: Visitor) -> None:
    """The page says why; the visitor removes it, stops one under way, and sends the rest."""
    page = visitor.page
    box = page.locator("#message")
    await box.evaluate(GIVE, ["paste", "huge.txt", "text/plain", 200_001])
    await expect(page.locator(".upload.failed")).to_contain_text("Larger than 200 kB")
    await box.evaluate(GIVE, ["paste", "setup.exe", "", 10])
    await expect(page.locator(".upload.failed").last).to_contain_text("This kind of file")
    # Only the server sees that this is no picture.
    await box.evaluate(GIVE, ["paste", "fake.png", "image/png", 10])
    await expect(page.locator(".upload.failed")).to_have_count(3)
    held = asyncio.Event()

    async def hold(route: Any) -> None:
        await held.wait()
        await route.abort()

    await page.route("**/files?name=slow.txt", hold)
    await box.evaluate(GIVE, ["paste", "slow.txt", "text/plain", 10])
    await expect(page.get_by_role("progressbar", name="slow.txt")).to_be_visible()
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await page.get_by_role("button", name="Cancel: slow.txt").click()
    held.set()
    await page.unroute_all(behavior="wait")
    for name in ("huge.txt", "setup.exe", "fake.png"):
        await page.get_by_role("button", name=f"Remove: {name}").click()
    await expect(page.locator(".tray")).to_have_count(0)
    await visitor.say("without")
    await visitor.sees("You said without.")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_files_are_accessible(theme: Any, scene: Scene, worker: None) -> None:
    """Files on their way and in the log, at the width of a phone."""
    options = {"color_scheme": theme, "viewport": {"width": 390, "height": 700}}
    async with visiting(scene, bypass_csp=True, **options) as visitor:
        page = visitor.page
        picture = {"name": "photo.png", "mimeType": "image/png", "buffer": PNG}
        long = {"name": f"{'long-' * 20}.txt", "mimeType": "text/plain", "buffer": b"text"}
        await choose(page, picture, long)
        await expect(page.locator(".upload .icon-check")).to_have_count(2)
        await page.get_by_role("button", name="Send").click()
        await visitor.sees("bytes.")
        await choose(page, long)
        await page.locator("#message").evaluate(GIVE, ["paste", "setup.exe", "", 10])
        await page.evaluate(AXE.read_text())
        found = await page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
        grave = [one for one in found["violations"] if one["impact"] in {"serious", "critical"}]
        assert [(one["id"], one["nodes"][0]["html"]) for one in grave] == []
        assert await page.evaluate("document.documentElement.scrollWidth") == 390


async def test_offline_for_a_minute(scene: Scene, visitor: Visitor) -> None:
    """The page tries less and less often, says so, and is back as soon as the network is."""
    page = visitor.page
    await page.clock.install()
    await page.reload()
    await visitor.say("one")
    await visitor.sees("You said one.")
    await visitor.context.set_offline(True)
    await visitor.say("two")
    await expect(page.get_by_role("status")).to_contain_text("Offline")
    for _ in range(6):
        await page.clock.run_for(10_000)
        await expect(page.get_by_text("Waiting to send")).to_have_count(1)
    await visitor.say("three")
    await visitor.context.set_offline(False)
    await visitor.sees("You said three.")
    await expect(page.get_by_role("status")).to_contain_text("Online")
    said = [line for word in ("one", "two", "three") for line in (word, f"You said {word}.")]
    assert sorted(await visitor.texts()) == sorted(said)


async def test_a_host_that_is_killed_in_mid_answer(scene: Scene) -> None:
    """Another host writes the answer of the model again: nothing is lost, nothing is doubled."""
    stuck = asyncio.Event()
    whole = text(*WORDS)
    models = Models([*whole[:20], stuck], whole)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(models.serving())
        files = {"pack.yaml": PACK.format(port=models.port), "flows/main.yaml": FLOW}
        pack = pack_of({name: content.encode() for name, content in files.items()})
        await scene.engine.secrets.set("MODEL_KEY", KEY, tenant="default")
        await stage(scene.engine, "r1", packs.upload_of(packs.build(pack)))

        async def host() -> Any:
            private = ("--allow-private", f"127.0.0.1:{models.port}")
            options = ("--lease", "1s", "--store", scene.store, *private)
            starting = holdfast_process(scene.folder, ROOT, "host", *options)
            return (await stack.enter_async_context(starting))[1]

        first = await host()
        await reached(scene.engine, "r1", Lifecycle.READY)
        await shift(scene.engine, "r1")
        chat = f"{scene.url}/chat/local/{SHOP.id}"
        visitor = await stack.enter_async_context(visiting(scene, chat))
        await visitor.say("hello")
        await expect(visitor.page.locator(".draft")).to_contain_text("w19")
        first.kill()
        await first.wait()
        await host()
        await visitor.sees("That was all.")
        said = await visitor.texts()
        assert [said[0], said[1].split(), *said[2:]] == [
            "hello",
            "".join(WORDS).split(),
            "That was all.",
        ]
        await visitor.page.reload()
        await visitor.sees("That was all.")
        assert await visitor.texts() == said
        link = visitor.page.get_by_role("link", name="a.pdf")
        await expect(link).to_have_attribute("href", "https://example.org/a.pdf")
        stuck.set()

"""The console for a key without payloads: calm, live, and without a byte of them."""

from __future__ import annotations

import contextlib
import re
import shutil

import pytest
from playwright.async_api import Error, Response, async_playwright, expect

from holdfast.engine import open_engine
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.servers import TestServer

CHROMIUM = shutil.which("chromium")
MARKER = "planted-4711"
PAYLOAD = f'{{"card": "{MARKER}"}}'.encode()
#: CI is slow at times.
PATIENCE_MS = 60_000

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: see `make browser`")


async def test_a_person_without_payloads_sees_the_rest_live(real_server: TestServer) -> None:
    """No marker in the page or on the wire; a queue changes under the eyes of the reader."""
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=sight"
    async with (
        open_engine(store) as engine,
        serving(engine, ServerSettings(port=0)) as (_, url),
        async_playwright() as playwright,
    ):
        await engine.submit("charge", id="one", tenant="acme", input=PAYLOAD)
        await engine.queues.define("acme/letters")
        _, secret = await engine.api_keys.create(roles=["operator"], tenant="acme", payloads="none")
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page()
        bodies: list[str] = []

        async def keep(response: Response) -> None:
            kind = response.headers.get("content-type", "")
            if "/v1/" in response.url and "event-stream" not in kind:
                # A page that the browser has left has no bodies any more.
                with contextlib.suppress(Error):
                    bodies.append(await response.text())

        page.on("response", keep)
        await page.goto(f"{url}/console/runs/one")
        await page.get_by_label("API key").fill(secret)
        await page.get_by_role("button", name=re.compile("log in", re.IGNORECASE)).click()
        await expect(page.get_by_text("hidden").first).to_be_visible(timeout=PATIENCE_MS)
        assert MARKER not in await page.content()

        await page.goto(f"{url}/console/queues")
        row = page.get_by_role("row").filter(has_text="letters")
        await expect(row).to_contain_text("0", timeout=PATIENCE_MS)
        await expect(page.get_by_text("Live").first).to_be_visible(timeout=PATIENCE_MS)
        for _ in range(7):
            await engine.queues.push("acme/letters", PAYLOAD)
        await expect(row).to_contain_text("7", timeout=PATIENCE_MS)
        await page.goto(f"{url}/console/queues/letters")
        await expect(page.get_by_text("hidden").first).to_be_visible(timeout=PATIENCE_MS)
        assert MARKER not in await page.content()
        await browser.close()
        assert bodies
        assert not [body for body in bodies if MARKER in body]

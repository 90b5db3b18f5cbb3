"""The pages in a real browser: how soon a visitor sees the chat, and how much is loaded for it.

`python -m bench.pages` measures this alone; it needs a Chromium (`make browser`).
"""

from __future__ import annotations

import asyncio
import gzip
import shutil
import tempfile
from importlib.resources import files
from statistics import median

from playwright.async_api import async_playwright

from holdfast.engine import open_engine
from holdfast.server.chat.doors import EVERY, Door
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings

LOADS = 20
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


async def measure_pages() -> dict[str, float]:
    """Measure the web chat; without a Chromium, only its size."""
    figures = {
        "chat.js, KB compressed": _kilobytes("chat.js"),
        "chat.css, KB compressed": _kilobytes("chat.css"),
        "embed.js, KB compressed": _kilobytes("embed.js"),
    }
    chromium = shutil.which("chromium")
    if chromium is None:
        return figures
    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = await _paints(chromium, f"embedded://{folder}")
    return figures | {
        "first paint of the chat, cold, ms": cold,
        "first paint of the chat, warm, p50 ms": median(warm),
        "first paint of the chat, warm, worst ms": max(warm),
    }


async def _paints(chromium: str, store: str) -> list[float]:
    """Load the page again and again; return when something was first seen, in ms."""
    settings = ServerSettings(port=0, web_chats=(Door(env="local", name=EVERY),), rate=0)
    async with (
        open_engine(store) as engine,
        serving(engine, settings) as (_, url),
        async_playwright() as playwright,
    ):
        options = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=chromium, args=options)
        page = await browser.new_page()
        times = []
        for _ in range(LOADS + 1):
            await page.goto(f"{url}/chat/local/bench")
            await page.wait_for_selector("h1")
            times.append(float(await page.evaluate(_PAINT)))
        await browser.close()
    return times


def _kilobytes(name: str) -> float:
    data = files("holdfast.server").joinpath("static", name).read_bytes()
    return len(gzip.compress(data, mtime=0)) / 1000


if __name__ == "__main__":
    for label, value in asyncio.run(measure_pages()).items():
        print(f"{label:<44}{value:>10.1f}")

"""The console in a real browser: how soon it shows something, and whether it stays smooth.

`python -m bench.console [loads rows changes graph payload life]` prints JSON. It needs a Chromium
(`make browser`).
The bounds are those of docs/console.md. Frames are what `requestAnimationFrame` sees.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from playwright.async_api import Browser, Page, Route, async_playwright

from bench.report import machine
from holdfast.engine import Engine, open_engine
from holdfast.model.executions import NewExecution
from holdfast.model.graphs import Edge
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings

LOADS = 20
ROWS = 10_000
STEPS = 10_000
MEMBERS = 1_000
CHANGES_PER_S = 500
BUSY_S = 10
FRAMES = 240
BIG = b'{"rows":["' + b"0123456789abcde " * 65_530 + b'"]}'
#: Resolves with the time in ms at which something is in the page and was painted: at the end of
#: the first frame that has it. It is woken by changes; looking again and again would cost time.
_SEEN = """selector => new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector(selector)) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, attributes: true });
  look();
})"""
#: Scrolls as fast as a person does, 7,200 pixels a second; resolves with the times between frames.
_SCROLL = """([selector, frames]) => new Promise((resolve) => {
  const box = document.querySelector(selector);
  const times = [];
  let before = performance.now();
  const next = (now) => {
    times.push(now - before);
    before = now;
    box.scrollTop = times.length * 120;
    if (times.length < frames) requestAnimationFrame(next); else resolve(times.slice(2));
  };
  requestAnimationFrame(next);
})"""
#: Times between frames, until `window.enough` is set.
_WATCH = """() => {
  window.frames_ = [];
  let before = performance.now();
  const next = (now) => {
    window.frames_.push(now - before);
    before = now;
    if (!window.enough) requestAnimationFrame(next);
  };
  requestAnimationFrame(next);
}"""
_GO = "a => { history.pushState(null, '', a); dispatchEvent(new Event('popstate')) }"
_ROW = ".virtual tbody tr:not([aria-hidden])"

Figures = dict[str, float]


@dataclass(slots=True)
class Scene:
    """A server with much in its store, and a browser."""

    engine: Engine
    url: str
    browser: Browser
    page: Page

    async def seen(self, path: str, selector: str) -> float:
        """Load a page of the console; return when something of it was painted, in ms."""
        await self.page.goto(f"{self.url}/console/{path}", wait_until="commit")
        return float(await self.page.evaluate(_SEEN, selector))

    async def opened(self, path: str, selector: str) -> float:
        """Go to a page as a link does; return how long it took, in ms."""
        before = await self.page.evaluate("performance.now()")
        await self.page.evaluate(_GO, f"/console/{path}")
        return float(await self.page.evaluate(_SEEN, selector) - before)

    async def frames(self, selector: str) -> list[float]:
        """Scroll through something; return the times between frames, in ms."""
        return list(await self.page.evaluate(_SCROLL, [selector, FRAMES]))


async def measure_console(names: Sequence[str] = ()) -> Figures:
    """Measure the console, or some parts; without a Chromium, nothing."""
    if shutil.which("chromium") is None:
        return {}
    figures: Figures = {}
    async with _scene() as scene:
        for measure in (_loads, _rows, _changes, _graph, _payload, _life):
            if not names or measure.__name__[1:] in names:
                figures |= await measure(scene)
    return figures


@contextlib.asynccontextmanager
async def _scene() -> AsyncIterator[Scene]:
    options = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
    with tempfile.TemporaryDirectory() as folder:
        async with (
            open_engine(f"embedded://{folder}?fsync=everysec") as engine,
            serving(engine, ServerSettings(port=0, rate=0)) as (_, url),
            async_playwright() as playwright,
        ):
            await _fill(engine)
            browser = await playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=options
            )
            page = await browser.new_page(viewport={"width": 1440, "height": 900})
            yield Scene(engine, url, browser, page)
            await browser.close()


async def _fill(engine: Engine) -> None:
    kinds = ["charge", "mail.send", "report"]
    for at in range(0, ROWS, 1_000):
        items = [
            NewExecution(kind=kinds[number % 3], id=f"run-{number}", lane="nobody")
            for number in range(at, at + 1_000)
        ]
        await engine.submit_many(items)
    await engine.submit("import", id="big", input=BIG, lane="nobody")
    members = {f"m{number}": NewExecution(kind="step", lane="busy") for number in range(MEMBERS)}
    edges = [
        Edge(source=f"m{(number - 1) // 2}", target=f"m{number}") for number in range(1, MEMBERS)
    ]
    await engine.graphs.submit(members, edges, id="graph")
    await engine.submit("long", id="long", lane="long")
    async with engine.claimer(lanes=["long"], worker="w") as claimer:
        (claim,) = await claimer.claim(1, 600_000)
        for at in range(0, STEPS, 100):
            names = [f"step {number}" for number in range(at, at + 100)]
            await asyncio.gather(
                *(engine.checkpoint(claim.id, claim.lease, name, b"1") for name in names)
            )
        await engine.complete(claim.id, claim.lease)


async def _loads(scene: Scene) -> Figures:
    """Measure how soon rows are seen, with and without what the browser keeps."""
    cold = []
    for _ in range(LOADS):
        page = await scene.browser.new_page(viewport={"width": 1440, "height": 900})
        # Its process starts, which is not what is measured.
        await asyncio.sleep(0.5)
        await page.goto(f"{scene.url}/console/runs", wait_until="commit")
        cold.append(float(await page.evaluate(_SEEN, _ROW)))
        await page.context.close()
    warm = [await scene.seen("runs", _ROW) for _ in range(LOADS + 1)][1:]
    overview = [await scene.seen("", "main .card") for _ in range(LOADS + 1)][1:]
    return {
        "first rows, cold, p50 ms": median(cold),
        "first rows, cold, p95 ms": _p95(cold),
        "first rows, warm, p50 ms": median(warm),
        "first rows, warm, p95 ms": _p95(warm),
        "overview, warm, p95 ms": _p95(overview),
    }


async def _rows(scene: Scene) -> Figures:
    """Load all rows, then scroll through them."""
    page = scene.page
    await scene.seen("runs", _ROW)
    await page.evaluate(
        """async (rows) => {
          const box = document.querySelector('.virtual');
          while (box.scrollHeight < rows * 36) {
            box.scrollTop = box.scrollHeight;
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
        }""",
        ROWS,
    )
    frames = await scene.frames(".virtual")
    return {
        "scroll of 10,000 rows, p95 ms a frame": _p95(frames),
        "rows in the page": await page.locator(".virtual tbody tr").count(),
    }


async def _changes(scene: Scene) -> Figures:
    """Let runs be created and cancelled, 500 changes a second, and look at the frames."""
    page = scene.page
    await scene.seen("runs", _ROW)
    await page.get_by_role("button", name="Live").wait_for()
    await page.evaluate(_WATCH)
    each = CHANGES_PER_S // 2 // 10
    started = time.monotonic()
    for tick in range(BUSY_S * 10):
        made = [f"busy-{tick}-{number}" for number in range(each)]
        items = [NewExecution(kind="busy", id=one, lane="nobody") for one in made]
        await scene.engine.submit_many(items)
        await asyncio.gather(*(scene.engine.cancel(one) for one in made))
        await asyncio.sleep(max(0, started + (tick + 1) / 10 - time.monotonic()))
    took = time.monotonic() - started
    await page.evaluate("window.enough = true")
    frames = await page.evaluate("window.frames_")
    return {
        "changes a second": BUSY_S * 10 * each * 2 / took,
        "frames while it changes, p95 ms": _p95(frames),
        "frames while it changes, worst ms": max(frames),
    }


async def _graph(scene: Scene) -> Figures:
    """Show a large graph, then end members of it."""
    page = scene.page
    opened = []
    for _ in range(5):
        await scene.seen("runs", _ROW)
        last = f".node[aria-label^='m{MEMBERS - 1},']"
        opened.append(await scene.opened("graphs/graph", last))
    await page.get_by_role("button", name="Live").wait_for()
    late = []
    opened_at = await page.evaluate("performance.timeOrigin")
    async with scene.engine.claimer(lanes=["busy"], worker="w") as claimer:
        for number in range(10):
            (claim,) = await claimer.claim(1, 600_000)
            selector = f".node[aria-label='m{number}, completed · step']"
            before = time.time() * 1_000 - opened_at
            await scene.engine.complete(claim.id, claim.lease)
            late.append(await page.evaluate(_SEEN, selector) - before)
            await asyncio.sleep(1)
    return {
        "graph of 1,000 members opens, p50 ms": median(opened),
        "graph of 1,000 members opens, worst ms": max(opened),
        "change of a member is seen, p50 ms": median(late),
        "change of a member is seen, worst ms": max(late),
    }


async def _payload(scene: Scene) -> Figures:
    """Open a run with an input of 1 MiB."""
    await scene.seen("runs", _ROW)
    opened = await scene.opened("runs/big", ".json pre, .json-tree")
    return {
        "input of 1 MiB opens, ms": opened,
        "tab with it, private MB": await _private_mb(scene.browser),
    }


async def _life(scene: Scene) -> Figures:
    """Open a run with as many steps as there can be, then scroll through four times as many."""
    await scene.seen("runs", _ROW)
    opened = await scene.opened("runs/long", ".timeline .tl-step")

    async def longer(route: Route) -> None:
        response = await route.fetch()
        view = await response.json()
        await route.fulfill(json={**view, "spans": view["spans"] * 4})

    await scene.page.route("**/timeline*", longer)
    await scene.seen("runs/long", ".timeline .tl-step")
    frames = await scene.frames(".timeline")
    return {
        "run of 10,000 steps opens, ms": opened,
        "scroll of 40,000 spans, p95 ms a frame": _p95(frames),
        "spans in the page": await scene.page.locator(".timeline .tl-row").count(),
    }


async def _private_mb(browser: Browser) -> float:
    """Return the memory that the process of the largest tab shares with no other."""
    session = await browser.new_browser_cdp_session()
    processes = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
    tabs = [one["id"] for one in processes if one["type"] == "renderer"]
    return max(_private_kb(number) for number in tabs) / 1_000


def _private_kb(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    fields = {line.split(":")[0]: line.split()[1] for line in lines[1:]}
    return int(fields["Private_Clean"]) + int(fields["Private_Dirty"])


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[18]


def main() -> None:
    """Measure and print."""
    figures: dict[str, Any] = asyncio.run(measure_console(sys.argv[1:]))
    print(json.dumps({"machine": machine(), "results": {"console": figures}}, indent=2))


if __name__ == "__main__":
    main()

"""Take the pictures of docs/console.md: twelve pages of the console in both themes.

python tools/console_pictures.py [FOLDER]

It starts the example app as `make run` does and lets people use it for a while, so that there is
something to see. It needs a Chromium (`make browser`).
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import httpx
from playwright.async_api import ViewportSize, async_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples" / "teashop"))

import people  # noqa: E402 - an example
import run  # noqa: E402 - an example
from teashop import app  # noqa: E402 - an example

#: How long people use the app before the pictures are taken.
LIVE_S = 75
SIZE: ViewportSize = {"width": 1240, "height": 780}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def pages(url: str) -> dict[str, str]:
    """Return the pages by the names of their pictures."""
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:

        async def first(path: str, **wanted: str) -> dict[str, Any]:
            items = (await client.get(path)).json()["items"]
            # The last question is still open in a moment, and the first graph has failed in part.
            items = items if "/v1/executions" in path else items[::-1]
            return next(one for one in items if all(one[key] == wanted[key] for key in wanted))

        order = await first("/v1/executions?kind=fulfil&state=completed")
        graph = await first("/v1/graphs")
        question = await first("/v1/waitpoints?limit=100", name="refund")
        session = await first("/v1/sessions?user=ben")
    return {
        "overview": "",
        "runs": "runs?state=failed,expired",
        "run": f"runs/{order['id']}",
        "why": "runs/film-1",
        "causes": "causes",
        "inbox": f"inbox?id={question['id']}",
        "graph": f"graphs/{graph['id']}",
        "session": f"sessions/{session['id']}",
        "deployment": "deployments/local/support",
        "limits": "limits?tenant=acme",
        "workers": "workers",
        "queue": "queues/returns-dead",
    }


async def take(url: str, folder: Path) -> None:
    """Take every picture."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for theme in THEMES:
            page = await browser.new_page(viewport=SIZE, color_scheme=theme)
            for name, path in (await pages(url)).items():
                await page.goto(f"{url}/console/{path}")
                await page.get_by_role("heading", level=1).wait_for()
                await page.wait_for_function("() => !document.querySelector('main [aria-busy]')")
                # Charts and payloads come a moment later.
                await page.wait_for_timeout(700)
                ending = "" if theme == "light" else f"-{theme}"
                await page.screenshot(path=folder / f"{name}{ending}.png")
                print(f"{name}{ending}: {url}/console/{path}", flush=True)
            await page.close()
        await browser.close()


async def main() -> None:
    """Run the example app, and take the pictures."""
    target = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "console"
    with tempfile.TemporaryDirectory() as folder:
        async with run.product(Path(folder)) as url:
            app.store = url
            async with app:
                await people.fill()
                await people.bots()
                living = asyncio.ensure_future(people.live())
                await asyncio.wait({living}, timeout=LIVE_S)
                await take(url, target)
                living.cancel()


if __name__ == "__main__":
    asyncio.run(main())

"""Resources as workers share them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from holdfast import App, use
from holdfast.testing.plugin import Attach

opened: list[str] = []


async def connection() -> AsyncIterator[str]:
    opened.append("opening")
    await asyncio.sleep(0)
    yield "connection"


app = App("embedded://never-opened")


@app.task
async def work(via: str = use(connection)) -> str:
    return via


async def test_a_resource_is_opened_once_by_tasks_that_start_together(holdfast_app: Attach) -> None:
    """Two first uses at the same moment share one opening."""
    opened.clear()
    t = await holdfast_app(app)
    await work.submit_many([{}, {}, {}])
    assert await t.run_until_idle() == 3
    assert opened == ["opening"]

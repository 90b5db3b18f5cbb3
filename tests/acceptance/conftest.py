"""An app on an embedded store in the folder of the test, and the worker processes that run it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast import App
from tests.acceptance.apps.crew import Crew
from tests.acceptance.apps.effects import World
from tests.acceptance.apps.shop import make_app
from tests.support.http_servers import server_process


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(params=["store", "http"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[App]:
    """The app as its submitter sees it, on the embedded store of the folder, near or far."""
    async with contextlib.AsyncExitStack() as stack:
        if request.param == "http":
            serving = server_process(f"embedded://{tmp_path / 'store'}", tmp_path)
            url, _ = await stack.enter_async_context(serving)
            (tmp_path / "url").write_text(url)
        yield await stack.enter_async_context(make_app(tmp_path))


@pytest.fixture
async def crew(app: App, tmp_path: Path) -> AsyncIterator[Crew]:
    async with Crew(tmp_path) as crew:
        yield crew

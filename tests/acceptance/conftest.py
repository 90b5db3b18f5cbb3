"""An app on an embedded store in the folder of the test, and the worker processes that run it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast import App
from tests.acceptance.apps.crew import Crew
from tests.acceptance.apps.effects import World
from tests.acceptance.apps.shop import make_app


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """The app as its submitter sees it, on the embedded store of the folder."""
    async with make_app(tmp_path) as app:
        yield app


@pytest.fixture
async def crew(app: App, tmp_path: Path) -> AsyncIterator[Crew]:
    async with Crew(tmp_path) as crew:
        yield crew

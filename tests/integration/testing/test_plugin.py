"""The pytest plugin and the kit as users have them: in projects of their own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from holdfast.engine import Engine
from holdfast.testing import Clock, TestStore

#: Where the entry point is not installed, the plugin is named by hand.
_INSTALLED = any(e.value == "holdfast.testing.plugin" for e in entry_points(group="pytest11"))
PLUGIN = () if _INSTALLED else ("-p", "holdfast.testing.plugin")

TASKS = """
from holdfast import App, Context

app = App()

@app.task(retries=1)
async def greet(ctx: Context, name: str) -> str:
    if ctx.attempt == 0:
        raise RuntimeError("busy")
    await ctx.sleep(3600)
    return f"Hello {name}"
"""

FUNCTION_LOOPS = """
import pytest
import pytest_asyncio
from holdfast.testing import TestApp, crash_everywhere
from tasks import app, greet

@pytest_asyncio.fixture
async def t(holdfast_store):
    async with TestApp(app, store=holdfast_store) as t:
        yield t

@pytest.mark.asyncio
async def test_one(t):
    assert await t.run(greet, "Ada") == "Hello Ada"

@pytest.mark.asyncio
async def test_two(holdfast_app):
    t = await holdfast_app(app)
    assert await t.run_until_idle() == 0

@pytest.mark.asyncio
async def test_three(holdfast_engine, holdfast_clock):
    submitted = await holdfast_engine.submit("work", delay_ms=60_000)
    await holdfast_clock.advance(minutes=1)
    assert await holdfast_clock.tick() == 1
"""

SESSION_LOOP = """
import pytest
import pytest_asyncio
from holdfast.testing import TestApp
from tasks import app, greet

pytestmark = pytest.mark.asyncio(loop_scope="session")

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def t(holdfast_server):
    async with TestApp(app, server=holdfast_server) as t:
        yield t

async def test_one(t):
    assert await t.run(greet, "Ada") == "Hello Ada"

async def test_two_sees_what_one_left(t):
    assert len((await t.engine.list()).items) == 1
"""

BOTH = """
import pytest_asyncio
from holdfast.testing import TestApp
from tasks import app, greet

@pytest_asyncio.fixture(scope="session")
async def shared(holdfast_server):
    async with TestApp(app, server=holdfast_server) as t:
        yield t

async def test_session(shared):
    assert await shared.run(greet, "Ada") == "Hello Ada"

async def test_function(holdfast_store):
    async with TestApp(app, store=holdfast_store) as t:
        assert await t.run_until_idle() == 0
        assert await t.run(greet, "Bob") == "Hello Bob"

async def test_session_again(shared):
    assert len((await shared.engine.list()).items) == 1
"""

#: Files that pytest runs in this order: the loop of the session, one of a test, the first again.
MIXED = {
    "conftest.py": """
import pytest_asyncio
from holdfast.testing import TestApp
from tasks import app

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(holdfast_server):
    async with TestApp(app, server=holdfast_server) as t:
        yield t
""",
    "test_a.py": """
import pytest
from tasks import greet

@pytest.mark.asyncio(loop_scope="session")
async def test_session(shared):
    assert await shared.run(greet, "Ada") == "Hello Ada"
""",
    "test_b.py": FUNCTION_LOOPS,
    "test_c.py": """
import pytest

@pytest.mark.asyncio(loop_scope="session")
async def test_session_again(shared):
    assert len((await shared.engine.list()).items) == 1
""",
}

SCRIPT = """
import asyncio
from holdfast.testing import TestApp, crash_everywhere
from tasks import app, greet

async def main():
    async with TestApp(app) as t:
        print(await t.run(greet, "Ada"))
        print(await crash_everywhere(t, greet, "Bob"))

asyncio.run(main())
"""

LOOP_PER_TEST = """
[pytest]
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""

IN_ONE_SESSION_LOOP = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = session
asyncio_default_test_loop_scope = session
filterwarnings = error
"""


def _python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize(
    ("tests", "settings", "passed"),
    [
        (FUNCTION_LOOPS, LOOP_PER_TEST, 3),
        (SESSION_LOOP, LOOP_PER_TEST, 2),
        (BOTH, IN_ONE_SESSION_LOOP, 3),
        (FUNCTION_LOOPS, LOOP_PER_TEST + "asyncio_mode = auto\n", 3),
    ],
    ids=["function-loops", "session-fixture", "both-in-one-loop", "auto-mode"],
)
def test_the_fixtures_work_in_every_scope(
    tmp_path: Path, tests: str, settings: str, passed: int
) -> None:
    """Projects with a loop per test and with one for the session can use the kit."""
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "test_it.py").write_text(tests)
    (tmp_path / "pytest.ini").write_text(settings)
    shown = _python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN)
    assert f"{passed} passed" in shown.stdout, shown.stdout + shown.stderr


def test_fixtures_of_both_scopes_can_be_mixed(tmp_path: Path) -> None:
    """A fixture of the session goes on after tests with loops of their own."""
    (tmp_path / "tasks.py").write_text(TASKS)
    for name, text in MIXED.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text(LOOP_PER_TEST)
    shown = _python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLUGIN)
    assert "5 passed" in shown.stdout, shown.stdout + shown.stderr


def test_the_kit_needs_no_pytest(tmp_path: Path) -> None:
    """A plain program can run an app to idle and crash it."""
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "script.py").write_text(SCRIPT)
    shown = _python(tmp_path, "-W", "error", "script.py")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "Hello Ada",
        "greet: killed 2 times, the same result 'Hello Bob' each time",
    ]


async def test_a_store_of_a_test_is_empty(holdfast_store: TestStore) -> None:
    """Whatever other tests did on the same server, this one starts with nothing."""
    assert await Engine(holdfast_store).count() == []


async def test_fixtures_of_a_test_belong_together(
    holdfast_store: TestStore, holdfast_clock: Clock, holdfast_engine: Engine
) -> None:
    """Store, clock and engine are those of one store."""
    assert holdfast_clock is holdfast_store.clock
    assert holdfast_engine.store is holdfast_store

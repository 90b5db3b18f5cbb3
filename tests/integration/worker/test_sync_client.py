"""The blocking client, for code without an event loop.

The blocking calls are made in a thread. The client library reads all replies of a process in the
loop that connected first, here the one of the tests, so that must keep running.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import App, SyncClient
from holdfast.errors import ExecutionFailed, HoldfastError, InvalidInput, ResultNotReady
from holdfast.model.states import State


def make_app(url: str) -> App:
    """An app with a few tasks."""
    app = App(url)

    @app.task
    def double(x: int) -> int:
        return 2 * x

    @app.task
    def fails() -> None:
        raise ValueError("why")

    @app.task
    def work(task: str) -> str:
        return task

    return app


@pytest.fixture
def app(real_url: str) -> App:
    """The app of the client."""
    return make_app(real_url)


@pytest.fixture
async def client(app: App, real_url: str) -> AsyncIterator[SyncClient]:
    """An open client, and a worker."""
    client = SyncClient(app)
    async with make_app(real_url).worker():
        await asyncio.to_thread(client.__enter__)
        yield client
        await asyncio.to_thread(client.__exit__)


def clients() -> list[threading.Thread]:
    """The threads of blocking clients that run."""
    return [thread for thread in threading.enumerate() if thread.name == "holdfast-client"]


async def test_it_submits_and_waits(app: App, client: SyncClient) -> None:
    """The calls are those of a task and its handle."""

    def use() -> None:
        handle = client.submit(app.find("double"), 4)
        assert handle.result(timeout=5) == 8
        assert handle.state() is State.COMPLETED
        assert handle.describe().kind == "double"
        assert "completed" in handle.explain().why
        assert repr(handle) == f"SyncHandle({handle.id!r})"
        assert not handle.duplicate

    await asyncio.to_thread(use)


async def test_it_submits_many(app: App, client: SyncClient) -> None:
    """In the order of the inputs."""

    def use() -> None:
        handles = client.submit_many(app.find("double"), [{"x": n} for n in range(5)])
        assert [handle.result(timeout=5) for handle in handles] == [0, 2, 4, 6, 8]

    await asyncio.to_thread(use)


async def test_it_raises_what_the_async_calls_raise(app: App, client: SyncClient) -> None:
    """Failures, refusals, timeouts."""

    def use() -> None:
        with pytest.raises(ExecutionFailed, match="why"):
            client.submit(app.find("fails")).result(timeout=5)
        with pytest.raises(InvalidInput, match=r"^input\.x: "):
            client.submit(app.find("double"), "x")
        later = client.submit(app.find("double").options(delay=60), 1)
        with pytest.raises(ResultNotReady):
            later.result(timeout=0.01)
        later.cancel("enough")
        assert later.state() is State.CANCELLED

    await asyncio.to_thread(use)


async def test_calls_may_come_from_any_thread(app: App, client: SyncClient) -> None:
    """A web server has many."""

    def use() -> int:
        result: int = client.submit(app.find("double"), 1).result(timeout=5)
        return result

    assert await asyncio.gather(*(asyncio.to_thread(use) for _ in range(5))) == [2] * 5


async def test_it_leaves_no_thread_behind(app: App) -> None:
    """And the app is closed."""

    def use() -> None:
        with SyncClient(app) as client:
            client.submit(app.find("double"), 1)
            assert clients()

    await asyncio.to_thread(use)
    assert not clients()
    with pytest.raises(HoldfastError, match="not open"):
        _ = app.engine


async def test_one_that_cannot_open_its_store_leaves_no_thread_behind() -> None:
    """The error is raised and that is all."""
    before = clients()
    client = SyncClient(App("nonsense://x"))
    with pytest.raises(InvalidInput):
        await asyncio.to_thread(client.__enter__)
    assert clients() == before


async def test_a_parameter_may_be_called_task(app: App, client: SyncClient) -> None:
    """The names of our own parameters are not the author's concern."""
    arguments: dict[str, Any] = {"task": "x"}

    def use() -> None:
        assert client.submit(app.find("work"), **arguments).result(timeout=5) == "x"

    await asyncio.to_thread(use)


async def test_a_script_runs_a_task_in_one_call(app: App) -> None:
    """Submit, run a worker, return the result, stop."""
    double, fails = app.find("double"), app.find("fails")
    assert await asyncio.to_thread(app.run, double, x=4) == 8
    with pytest.raises(ExecutionFailed, match="why"):
        await asyncio.to_thread(app.run, fails)


async def test_a_script_may_run_a_task_with_a_parameter_called_task(app: App) -> None:
    """As above."""
    arguments: dict[str, Any] = {"task": "x"}
    assert await asyncio.to_thread(lambda: app.run(app.find("work"), **arguments)) == "x"

"""`holdfast mcp` and a worker die by kill -9; the handle still answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from holdfast.engine import Engine, open_engine
from holdfast.integrations.mcp.server import KEY
from holdfast.model.states import State
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing import wait_for
from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT
from tests.support import commands

pytestmark = pytest.mark.timeout(180)


def pid_of_mcp() -> int:
    """Return the process that the client has started."""
    for place in Path("/proc/self/task").iterdir():
        for pid in (place / "children").read_text().split():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"mcp" in words:
                    return int(pid)
    raise AssertionError("there is no such process")


def tools(store: str, **environment: str) -> Client:
    """Start `holdfast mcp`, and return a client of it."""
    args = ["-m", "holdfast.cli", "mcp", "--store", store, "--wait", "600"]
    env = {**os.environ, **environment}
    given = StdioServerParameters(command=sys.executable, args=args, env=env, cwd=ROOT)
    return Client(stdio_client(given))


@contextlib.asynccontextmanager
async def calling(
    client: Client, tool: str, /, **arguments: Any
) -> AsyncIterator[asyncio.Task[Any]]:
    """Call a tool; continue when the client has heard of its progress."""
    is_heard = asyncio.Event()

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        is_heard.set()

    meta: Any = {KEY: tool}
    call = asyncio.ensure_future(
        client.call_tool(tool, arguments, progress_callback=progress, meta=meta)
    )
    await asyncio.wait_for(is_heard.wait(), 60)
    try:
        yield call
    finally:
        call.cancel()


async def is_published(engine: Engine) -> bool:
    """Look for the tasks of the worker."""
    return bool(await engine.tasks.list())


async def test_a_handle_outlives_its_processes(single_server: TestServer, tmp_path: Path) -> None:
    """The same call, by another client over HTTP, gets the result of the same execution."""
    store = f"valkey://127.0.0.1:{single_server.port}?prefix=mcp"
    environment = {**os.environ, "HOLDFAST_STORE": store, "OVEN": str(tmp_path / "hot")}

    def worker() -> commands.Command:
        args = ["worker", "tests.acceptance.apps.oven:app", "--lease", "2s"]
        with Path(os.devnull).open("w") as out:
            return commands.start(
                args, folder=ROOT, environment=environment, stdout=out, stderr=out
            )

    first = worker()
    async with open_engine(store) as engine:
        await wait_for(lambda: is_published(engine), timeout_s=60)
        async with tools(store) as client, calling(client, "bake", name="bread") as call:
            os.kill(pid_of_mcp(), signal.SIGKILL)
            with pytest.raises(MCPError, match="closed"):
                await call
        first.kill()
        first.wait(60)
        (started,) = (await engine.list()).items
        assert started.state is State.ACTIVE
        second = worker()
        _, key = await engine.api_keys.create(roles=["submitter", "operator"], tenant="default")
        settings = ServerSettings(port=0)
        async with (
            serving(engine, settings) as (_, address),
            tools(address, HOLDFAST_KEY=key) as client,
        ):
            meta: Any = {KEY: "bake"}
            answer = await client.call_tool("bake", {"name": "bread"}, meta=meta)
            assert answer.structured_content == {
                "id": started.id,
                "state": "completed",
                "result": "baked bread, mixed 1",
            }
            # A client that cancels a call cancels the execution; one that is gone does not.
            async with calling(client, "ask") as call:
                call.cancel()
                await wait_for(lambda: has(engine, State.CANCELLED), timeout_s=60)
        second.terminate()
        assert second.wait(60) == 0


async def has(engine: Engine, state: State) -> bool:
    """Look for executions in a state."""
    return any(each.state is state for each in await engine.count())

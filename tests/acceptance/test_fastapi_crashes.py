"""A web process dies by kill -9 between accepting work and its end; the work continues."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from holdfast.testing import wait_for
from holdfast.testing.servers import TestServer
from tests.acceptance.processes import ROOT
from tests.support import commands

pytestmark = pytest.mark.timeout(180)


async def test_accepted_work_survives_the_web_process(
    single_server: TestServer, tmp_path: Path
) -> None:
    """The next process finishes it, and repeats no recorded step."""
    socket, hot = tmp_path / "web", tmp_path / "hot"
    store = f"valkey://127.0.0.1:{single_server.port}?prefix=web"
    environment = {**os.environ, "HOLDFAST_STORE": store, "OVEN": str(hot)}
    args = ["tests.acceptance.apps.web_oven:api", "--uds", str(socket), "--log-level", "warning"]

    def web() -> commands.Command:
        with (tmp_path / "log").open("a") as log:
            return commands.start(
                args,
                folder=ROOT,
                environment=environment,
                stdout=log,
                stderr=log,
                module="uvicorn",
            )

    async def is_up() -> bool:
        return socket.exists()

    async def is_hot() -> bool:
        return hot.exists()

    first = web()
    await wait_for(is_up, timeout_s=60)
    transport = httpx.AsyncHTTPTransport(uds=str(socket), retries=3)
    async with httpx.AsyncClient(transport=transport, base_url="http://web", timeout=90) as client:
        assert (await client.post("/breads/rye")).json() == "bake-rye"
        await wait_for(is_hot, timeout_s=60)
        first.kill()
        first.wait(60)
        socket.unlink()
        second = web()
        await wait_for(is_up, timeout_s=60)
        assert (await client.get("/breads/rye")).json() == "baked rye, mixed 1"
        second.terminate()
        assert second.wait(60) in (0, -15)

"""The worker in plain JavaScript under examples/ does real work."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from holdfast import Client
from holdfast.engine import open_engine
from holdfast.errors import ExecutionFailed
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer
from tests.support.http_servers import ROOT, server_process

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.timeout(90)
async def test_the_javascript_worker_runs_tasks(real_server: TestServer, tmp_path: Path) -> None:
    """Results, steps, a failure, a clean end when drained; with a key that may only work."""
    store = f"valkey://127.0.0.1:{real_server.port}?prefix=js"
    async with open_engine(store, maintenance=False) as engine:
        _, admin = await engine.api_keys.create(roles=["admin"])
        _, worker = await engine.api_keys.create(roles=["worker"], tenant="acme")
    async with (
        server_process(store, tmp_path) as (url, _),
        Client(url, key=admin, tenant="acme") as client,
    ):
        node = await asyncio.create_subprocess_exec(
            str(NODE),
            "examples/worker.mjs",
            cwd=ROOT,
            env={**os.environ, "HOLDFAST_URL": url, "HOLDFAST_KEY": worker},
        )
        try:
            greeting = await client.submit("js.greet", input=b'{"name":"Ada"}')
            order = await client.submit("js.order", input=b'{"amount":3}')
            broken = await client.submit("js.greet", input=b"null")
            assert await client.result(greeting.id, timeout_s=30) == b'"Hello, Ada!"'
            assert await client.result(order.id, timeout_s=30) == b'"sent 300"'
            with pytest.raises(ExecutionFailed, match="destructure") as failed:
                await client.result(broken.id, timeout_s=30)
            assert failed.value.context["error"]["type"] == "TypeError"
            names = [step.name for step in await client.steps(order.id)]
            assert names == ["charge", "mail"]
            (registered,) = await client.workers.list()
            assert (registered.worker, registered.tenant) == ("js", "acme")
            await client.workers.drain(registered.instance)
            assert await asyncio.wait_for(node.wait(), 20) == 0

            async def gone() -> bool:
                return await client.workers.list() == []

            await wait_for(gone)
        finally:
            if node.returncode is None:
                node.kill()
            await node.wait()

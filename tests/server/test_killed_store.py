"""The store is killed under load: 503 with `retryable`, recovery by itself, nothing lost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from holdfast.model.ids import new_id
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_server
from tests.support.http_servers import server_process
from tests.support.killing import kill, restart

PERSISTENT = ("--appendonly", "yes", "--appendfsync", "always")


class Submitters:
    """Submit without a pause, and remember what was acknowledged and what was refused."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.acknowledged: list[str] = []
        self.refused: list[httpx.Response] = []
        self.stopping = False

    async def run(self) -> None:
        """Submit one after the other; what was refused is sent again, as the answer allows."""
        while not self.stopping:
            mine = new_id()
            while True:
                response = await self._client.post("/v1/executions", json={"kind": "w", "id": mine})
                if response.is_success:
                    self.acknowledged.append(mine)
                    break
                self.refused.append(response)
                await asyncio.sleep(0.05)

    async def wait_for_more(self, count: int) -> None:
        """Wait until so many more were acknowledged."""
        enough = len(self.acknowledged) + count

        async def so() -> bool:
            return len(self.acknowledged) >= enough

        await wait_for(so, timeout_s=60)

    async def wait_for_refusals(self, count: int) -> None:
        """Wait until so many more calls were refused."""
        enough = len(self.refused) + count

        async def so() -> bool:
            return len(self.refused) >= enough

        await wait_for(so, timeout_s=60)


@pytest.mark.timeout(120)
async def test_a_killed_store_is_reported_and_survived(tmp_path: Path) -> None:
    """One server process lives through two deaths of its store."""
    with start_server(*PERSISTENT, folder=tmp_path) as first:
        servers: list[TestServer] = [first]
        store = f"valkey://127.0.0.1:{first.port}"
        try:
            async with (
                server_process(store, tmp_path) as (url, process),
                httpx.AsyncClient(base_url=url, timeout=30) as client,
            ):
                load = Submitters(client)
                running = [asyncio.ensure_future(load.run()) for _ in range(8)]
                for _ in range(2):
                    await load.wait_for_more(50)
                    kill(servers[-1])
                    await _wait_until_not_ready(client)
                    await load.wait_for_refusals(1)
                    servers.append(restart(servers[-1], tmp_path))
                    await load.wait_for_more(50)
                load.stopping = True
                await asyncio.gather(*running)
                assert process.returncode is None
                await _wait_until(client, 200)
                _check_refusals(load.refused)
                for mine in load.acknowledged:
                    response = await client.get(f"/v1/executions/{mine}")
                    assert response.status_code == 200, mine
        finally:
            kill(servers[-1])


async def _wait_until(client: httpx.AsyncClient, status: int) -> None:
    """Wait for an answer about readiness; a service that stopped may still be away for 0.2 s."""

    async def answered() -> bool:
        return (await client.get("/readyz")).status_code == status

    await wait_for(answered, timeout_s=30)


async def _wait_until_not_ready(client: httpx.AsyncClient) -> None:
    await _wait_until(client, 503)
    assert (await client.get("/healthz")).status_code == 200


def _check_refusals(refused: list[httpx.Response]) -> None:
    assert refused
    for response in refused:
        problem = response.json()
        assert (response.status_code, problem["retryable"]) == (503, True), problem
        assert problem["code"] in {"store_unavailable", "outcome_unknown"}
        assert response.headers["retry-after"] == "1"

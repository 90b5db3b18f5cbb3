"""Servers and workers die in the middle of many webhooks; every reply arrives once, in order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from holdfast.engine import open_engine
from holdfast.model.endpoints import NewEndpoint
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from tests.support.channels import SECRETS, message
from tests.support.fake_provider import Failure, FakeProvider, fake_provider
from tests.support.http_servers import ROOT, holdfast_process

pytestmark = pytest.mark.timeout(180)

USERS, MESSAGES = 12, 6
#: Replies of a process that died are sent by another when its hand-out has expired.
ARRIVE_S = 90
#: What dies, by the number of the message that is being answered.
KILLS = {2: "server", 3: "worker", 4: "server"}
WORKER = ("worker", "tests.acceptance.apps.echo_bot:app", "--lease", "2s")


class Site:
    """A server and a worker, each started again when it is killed."""

    def __init__(self, store: str, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._stack = contextlib.AsyncExitStack()
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run both while the block runs."""
        async with self._stack:
            self._server = await self._start("server", "--listen", "127.0.0.1:0")
            self._worker = await self._start(*WORKER)
            yield

    async def _start(self, command: str, *options: str) -> object:
        started, process = await self._stack.enter_async_context(
            holdfast_process(
                self._folder,
                ROOT,
                command,
                *options,
                *("--store", self._store),
                HOLDFAST_WEBHOOK_HOSTS="127.0.0.1",
            )
        )
        if command == "server":
            self.url = started["url"]
        return process

    async def kill_server(self) -> None:
        """Kill the server, and start another."""
        self._server.send_signal(signal.SIGKILL)  # type: ignore[attr-defined]
        self._server = await self._start("server", "--listen", "127.0.0.1:0")

    async def kill_worker(self) -> None:
        """Kill the worker, and start another."""
        self._worker.send_signal(signal.SIGKILL)  # type: ignore[attr-defined]
        self._worker = await self._start(*WORKER)


async def send(site: Site, user: str, number: int) -> None:
    """Send a webhook until it is acknowledged, as a provider does."""
    sent = message("webhook", f"{user} {number}", number, user)
    async with httpx.AsyncClient(timeout=5) as client:
        while True:
            request = replace(sent, at_s=int(time.time())).request()
            with contextlib.suppress(httpx.HTTPError):
                response = await client.post(
                    f"{site.url}/ingress/local/inbox", content=sent.body, headers=request.headers
                )
                if response.status_code == 200:
                    return
            await asyncio.sleep(0.05)


def arrived(provider: FakeProvider) -> dict[str, list[str]]:
    """Return what each user read: a message that has the key of an earlier one is the same."""
    seen: set[str] = set()
    read: dict[str, list[str]] = defaultdict(list)
    for one in provider.taken:
        key = one.headers["webhook-id"]
        if key not in seen:
            seen.add(key)
            read[one.body["user"]].append(one.text)
    return read


async def test_replies_arrive_once_and_in_order_whatever_dies(tmp_path: Path) -> None:
    """The server dies, then the worker, then the server again, while the provider fails, too."""
    users = [f"user-{number}" for number in range(USERS)]
    expected = {
        user: [f"{user} {number} {part}" for number in range(MESSAGES) for part in "ab"]
        for user in users
    }
    with start_server() as valkey:
        store = f"valkey://127.0.0.1:{valkey.port}"
        async with fake_provider() as provider:
            new = NewEndpoint(
                id="inbox",
                provider="webhook",
                conversation="echo",
                settings={"url": provider.url},
                secrets=SECRETS["webhook"],
                rate=10_000,
            )
            async with open_engine(store, maintenance=False) as engine:
                await engine.endpoints.put(new)
            site = Site(store, tmp_path)
            async with site.running():
                await talk(site, provider, users)

                async def all_read() -> bool:
                    return arrived(provider) == expected

                await wait_for(all_read, timeout_s=ARRIVE_S)
    texts = json.dumps(provider.texts)
    assert len(provider.texts) <= len(set(provider.texts)) + 40, texts


async def talk(site: Site, provider: FakeProvider, users: list[str]) -> None:
    """Send everything, with trouble at several points."""
    for number in range(MESSAGES):
        if number == 1:
            provider.failures = [Failure(500), Failure(429, {"Retry-After": "1"}), Failure(None)]
        some = len(provider.taken) + 3
        sending = asyncio.gather(*(send(site, user, number) for user in users))
        if number in KILLS:

            async def some_arrived(wanted: int = some) -> bool:
                return len(provider.taken) >= wanted

            await wait_for(some_arrived)
            await (site.kill_worker() if KILLS[number] == "worker" else site.kill_server())
        await sending

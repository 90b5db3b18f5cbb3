"""Servers, workers and hosts die in the middle of webhooks; every reply arrives once, in order."""

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

from holdfast.engine import Engine, open_engine
from holdfast.model.endpoints import NewEndpoint
from holdfast.model.revisions import Lifecycle
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import start_server
from tests.support.channels import SECRETS, message
from tests.support.commands import Talking
from tests.support.fake_provider import Failure, FakeProvider, fake_provider
from tests.support.hosting import reached, shift, shop, stage
from tests.support.http_servers import ROOT, holdfast_process

pytestmark = pytest.mark.timeout(480)

USERS, MESSAGES = 12, 6
#: Replies of a process that died are sent by another when its hand-out has expired.
ARRIVE_S = 90
#: What runs, and how it is started.
COMMANDS = {
    "server": ("--listen", "127.0.0.1:0"),
    "worker": ("tests.acceptance.apps.echo_bot:app", "--lease", "2s"),
    "host": ("--lease", "2s"),
}
#: What dies, by the number of the message that is being answered.
KILLS = {1: "host", 2: "server", 3: "worker", 4: "server", 5: "host"}
#: Says each message twice, as the app does.
FLOW = """\
id: main
nodes:
  first: {{emit: {{text: "{{{{ input.text }}}} a"}}, out: second}}
  second: {{emit: {{text: "{{{{ input.text }}}} b"}}, out: end}}
"""


class Site:
    """A server, a worker and a host of packs, each started again when it is killed."""

    def __init__(self, store: str, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._stack = contextlib.AsyncExitStack()
        self._running: dict[str, Talking] = {}
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run all while the block runs."""
        async with self._stack:
            for command in COMMANDS:
                await self._start(command)
            yield

    async def kill(self, command: str) -> None:
        """Kill one of them, and start another."""
        self._running[command].send_signal(signal.SIGKILL)
        await self._start(command)

    async def _start(self, command: str) -> None:
        said, self._running[command] = await self._stack.enter_async_context(
            holdfast_process(
                self._folder,
                ROOT,
                command,
                *COMMANDS[command],
                *("--store", self._store),
                HOLDFAST_WEBHOOK_HOSTS="127.0.0.1",
            )
        )
        if command == "server":
            self.url = said["url"]


async def put_endpoints(engine: Engine, url: str) -> None:
    """Make an endpoint for the app, and one for the pack."""
    inbox = NewEndpoint(
        id="app",
        provider="webhook",
        conversation="echo",
        settings={"url": url},
        secrets=SECRETS["webhook"],
        rate=10_000,
    )
    await engine.endpoints.put(inbox)
    await engine.endpoints.put(replace(inbox, id="pack", conversation=None, deployment="shop"))


async def send(site: Site, user: str, number: int) -> None:
    """Send a webhook until it is acknowledged, as a provider does."""
    sent = message("webhook", f"{user} {number}", number, user)
    endpoint, _, _ = user.partition("-")
    async with httpx.AsyncClient(timeout=5) as client:

        async def is_acknowledged() -> bool:
            request = replace(sent, at_s=int(time.time())).request()
            url = f"{site.url}/ingress/local/{endpoint}"
            try:
                response = await client.post(url, content=sent.body, headers=request.headers)
            except httpx.HTTPError:
                return False
            return response.status_code == 200

        await wait_for(is_acknowledged, timeout_s=ARRIVE_S)


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
    """The host dies, the server, the worker, and again, while the provider fails, too."""
    users = [f"{endpoint}-{n}" for n in range(USERS // 2) for endpoint in ("app", "pack")]
    expected = {
        user: [f"{user} {number} {part}" for number in range(MESSAGES) for part in "ab"]
        for user in users
    }
    with start_server() as valkey:
        store = f"valkey://127.0.0.1:{valkey.port}"
        site = Site(store, tmp_path)
        async with (
            fake_provider() as provider,
            open_engine(store, maintenance=False) as engine,
            site.running(),
        ):
            await put_endpoints(engine, provider.url)
            await stage(engine, "r1", shop("", flow=FLOW))
            await reached(engine, "r1", Lifecycle.READY)
            await shift(engine, "r1")
            await talk(site, provider, users)

            async def all_read() -> bool:
                return arrived(provider) == expected

            with contextlib.suppress(TimeoutError):
                await wait_for(all_read, timeout_s=ARRIVE_S)
            assert arrived(provider) == expected
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

            await wait_for(some_arrived, timeout_s=ARRIVE_S)
            await site.kill(KILLS[number])
        await sending

"""Stores for tests, on a real server, each with its own prefix and settable clock."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator

from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer, start_server
from holdfast.testing.watched_graphs import WatchedGraphs
from holdfast.testing.watched_inboxes import WatchedInboxes
from holdfast.testing.watching import Watch, WatchedExecutions, WatchedSessions

_CONNECT_TIMEOUT_MS = 5_000

_prefixes = (f"kit{os.getpid()}x{n}" for n in itertools.count())


class TestStore(Store):
    """A store that runs on its `clock`, which stands still until it is moved."""

    __test__ = False

    def __init__(self, client: Client, url: StoreUrl, settings: StoreSettings) -> None:
        super().__init__(client, url, settings)
        self.clock: Clock = Clock(self)
        self.watch: Watch = Watch()
        self.executions: WatchedExecutions = WatchedExecutions(self, self.watch)
        self.sessions: WatchedSessions = WatchedSessions(self, self.watch)
        self.graphs: WatchedGraphs = WatchedGraphs(self, self.watch)
        self.inboxes: WatchedInboxes = WatchedInboxes(self, self.watch)

    async def fresh(self) -> TestStore:
        """Return an empty store on the same connection."""
        return await _boot(self.client, self.url)


async def _boot(client: Client, url: StoreUrl) -> TestStore:
    own = StoreUrl(
        addresses=url.addresses,
        cluster=url.cluster,
        partitions=url.partitions,
        prefix=next(_prefixes),
    )
    store = TestStore(client, own, StoreSettings(fake_clock=True))
    await store.boot()
    await store.clock.set(store.clock.now_ms)
    return store


@contextlib.asynccontextmanager
async def open_test_store(
    server: TestServer | None = None, *, partitions: int = 1
) -> AsyncIterator[TestStore]:
    """Open an empty store on a server, or on a new server for the duration of the block."""
    async with contextlib.AsyncExitStack() as stack:
        if server is None:
            running = start_server()
            server = await asyncio.to_thread(running.__enter__)
            stack.push_async_callback(asyncio.to_thread, running.__exit__, None, None, None)
        url = StoreUrl(addresses=(("127.0.0.1", server.port),), partitions=partitions)
        client = await Client.connect(url, timeout_ms=_CONNECT_TIMEOUT_MS)
        stack.push_async_callback(client.close)
        yield await _boot(client, url)

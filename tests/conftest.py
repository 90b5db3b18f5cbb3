"""Servers are shared by the tests of a process; each test has a prefix, so a store, of its own."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from holdfast.engine import Engine
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.urls import StoreUrl
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer, start_cluster, start_server
from tests.support.dump import dump_keys

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts commands in the background like this, and the processes of tests inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_prefixes = (f"t{os.getpid()}x{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def single_server() -> Iterator[TestServer]:
    with start_server() as server:
        yield server


@pytest.fixture(scope="session")
def cluster_nodes() -> Iterator[list[TestServer]]:
    with start_cluster() as nodes:
        yield nodes


@pytest.fixture(scope="session")
async def single_client(single_server: TestServer) -> AsyncIterator[Client]:
    url = StoreUrl(addresses=(("127.0.0.1", single_server.port),))
    client = await Client.connect(url, timeout_ms=5_000)
    yield client
    await client.close()


@pytest.fixture(scope="session")
async def cluster_client(cluster_nodes: list[TestServer]) -> AsyncIterator[Client]:
    addresses = tuple(("127.0.0.1", node.port) for node in cluster_nodes)
    client = await Client.connect(StoreUrl(addresses=addresses, cluster=True), timeout_ms=5_000)
    yield client
    await client.close()


async def make_store(client: Client, partitions: int, **settings: Any) -> Store:
    url = StoreUrl(prefix=next(_prefixes), partitions=partitions, cluster=client.cluster)
    store = Store(client, url, StoreSettings(fake_clock=True, **settings))
    await store.boot()
    await Clock(store).set(Clock(store).now_ms)
    return store


@pytest.fixture(params=["single", "cluster"])
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.getfixturevalue(f"{request.param}_client")
    return found


@pytest.fixture
async def store(client: Client) -> Store:
    """A store with a settable clock: one partition on one server, or 16 on a cluster."""
    return await make_store(client, 16 if client.cluster else 1)


@pytest.fixture
async def single_store(single_client: Client) -> Store:
    """A store with one partition on one server, where order is exact."""
    return await make_store(single_client, 1)


@pytest.fixture
def clock(store: Store) -> Clock:
    return Clock(store)


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[Engine]:
    """An engine whose timers fire only when a test moves the clock."""
    engine = Engine(store)
    yield engine
    await engine.close()


@pytest.fixture
def dump(request: pytest.FixtureRequest, store: Store) -> Callable[[], dict[str, object]]:
    """Read every key of the store, behind its back."""
    if store.client.cluster:
        nodes = request.getfixturevalue("cluster_nodes")
    else:
        nodes = [request.getfixturevalue("single_server")]
    return lambda: dump_keys(nodes, store.prefix)

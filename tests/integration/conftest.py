"""Servers and engines with the production library and the real clock.

The shared servers of the test run hold the library with the settable clock, so what needs the
real one gets a server of its own.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Iterator

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.testing.servers import TestServer, start_server

_prefixes = (f"r{os.getpid()}x{n}" for n in itertools.count())


@pytest.fixture(scope="session")
def real_server() -> Iterator[TestServer]:
    """A server whose stores run on the real clock."""
    with start_server() as server:
        yield server


@pytest.fixture
def real_url(real_server: TestServer) -> str:
    """A fresh store with one partition on the real clock."""
    return f"valkey://127.0.0.1:{real_server.port}?prefix={next(_prefixes)}"


@pytest.fixture(params=[1, 16])
async def live(request: pytest.FixtureRequest, real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock that fires its own timers, with 1 and with 16 partitions."""
    async with open_engine(f"{real_url}&partitions={request.param}") as engine:
        yield engine

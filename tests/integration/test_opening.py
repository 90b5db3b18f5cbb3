"""Opening a store over connections that drop: every part of it is repeated like any call."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from holdfast.store.store import open_store
from holdfast.testing.servers import TestServer, start_server
from tests.support.proxy import Cut, CuttingProxy, open_proxy


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with start_server() as started:
        yield started


@pytest.fixture
def proxy(server: TestServer) -> Iterator[CuttingProxy]:
    with open_proxy(server.port, Random(0)) as opened:
        yield opened


@pytest.mark.parametrize("cut", [Cut.IN_REQUEST, Cut.BEFORE_REPLY, Cut.IN_REPLY])
@pytest.mark.parametrize("words", [b"PING", b"everything", b"LIST", b"LOAD", b"hf_admin_boot"])
async def test_a_connection_that_drops_while_a_store_is_opened_is_made_again(
    server: TestServer, proxy: CuttingProxy, words: bytes, cut: Cut
) -> None:
    """Whichever request it is, and whether or not the server has run it."""
    with server.raw() as raw:
        raw.function_flush()
    proxy.cut_at(words, cut)
    async with open_store(f"valkey://127.0.0.1:{proxy.port}") as store:
        assert store.partitions == 1
    assert proxy.cuts[cut] == 1

"""Calls: written together, each reply to its caller, no caller hurt by others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from holdfast.errors import HoldfastError, StoreFault
from holdfast.model.states import State
from holdfast.store.store import Store
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import MOST_BYTES_IN_BATCH, MOST_CALLS_UNDER_WAY
from holdfast.store.valkey.urls import StoreUrl
from holdfast.store.valkey.wire import Call, Command, Wire, pack
from holdfast.testing.servers import TestServer
from tests.support.lifecycle import create_one, state_of


@pytest.fixture
async def own(single_server: TestServer) -> AsyncIterator[Client]:
    """A client of one's own on the shared server."""
    url = StoreUrl(addresses=(("127.0.0.1", single_server.port),))
    client = await Client.connect(url, timeout_ms=5_000)
    yield client
    await client.close()


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[list[bytes]]:
    """What clients send, batch by batch, but for looks whether a server is there."""
    sent: list[list[bytes]] = []
    send = Wire.send

    def watched(wire: Wire, calls: list[Call]) -> None:
        if batch := [packed for packed, _ in calls if packed != pack(("PING",))]:
            sent.append(batch)
        send(wire, calls)

    monkeypatch.setattr(Wire, "send", watched)
    return sent


async def test_calls_of_one_moment_form_few_batches(
    own: Client, batches: list[list[bytes]]
) -> None:
    """A thousand callers cost a handful of trips, and each gets its own reply."""
    replies = await asyncio.gather(*(own.call(["ECHO", str(n)]) for n in range(1_000)))
    assert replies == [str(n).encode() for n in range(1_000)]
    assert sum(map(len, batches)) == 1_000
    assert len(batches) <= 1_000 // MOST_CALLS_UNDER_WAY + 1


async def test_calls_that_arrive_while_batches_are_under_way_wait_and_join(
    own: Client, batches: list[list[bytes]]
) -> None:
    """Callers that go on one by one still share trips."""

    async def chat(name: int) -> None:
        for turn in range(20):
            assert await own.call(["ECHO", f"{name}.{turn}"]) == f"{name}.{turn}".encode()

    await asyncio.gather(*(chat(name) for name in range(100)))
    assert sum(map(len, batches)) == 2_000
    assert len(batches) < 400


async def test_a_lone_call_is_not_kept_waiting(own: Client, batches: list[list[bytes]]) -> None:
    """One caller is one call."""
    assert await own.call(["ECHO", "hi"]) == b"hi"
    assert batches == [[pack(["ECHO", "hi"])]]


async def test_an_error_reply_reaches_its_caller_only(own: Client) -> None:
    """The others of the batch get their replies."""
    commands: list[Command] = [["ECHO", "a"], ["NOSUCHCOMMAND"], ["ECHO", "b"], ["GET"]]
    replies = await asyncio.gather(*map(own.call, commands), return_exceptions=True)
    assert [replies[0], replies[2]] == [b"a", b"b"]
    for failure in (replies[1], replies[3]):
        assert isinstance(failure, CallFailed)
        assert failure.answered


async def test_a_lone_error_reply_is_a_failure_too(own: Client) -> None:
    """A batch of one is no special case."""
    with pytest.raises(CallFailed, match="NOSUCHCOMMAND") as failed:
        await own.call(["NOSUCHCOMMAND"])
    assert failed.value.answered


async def test_a_cancelled_caller_harms_nobody(own: Client) -> None:
    """Callers may leave before their call is sent and while it is under way."""
    calls = [asyncio.ensure_future(own.call(["ECHO", str(n)])) for n in range(300)]
    for call in calls[::7]:
        call.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for call in calls[1::7]:
        call.cancel()
    replies = await asyncio.gather(*calls, return_exceptions=True)
    for number, reply in enumerate(replies):
        if number % 7 > 1:
            assert reply == str(number).encode()
        else:
            assert isinstance(reply, asyncio.CancelledError) or reply == str(number).encode()
    assert await own.call(["ECHO", "after"]) == b"after"


async def test_a_batch_whose_callers_all_left_is_no_problem(
    own: Client, batches: list[list[bytes]]
) -> None:
    """Nothing is sent, and the next call works."""
    calls = [asyncio.ensure_future(own.call(["ECHO", "x"])) for _ in range(10)]
    await asyncio.sleep(0)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    async with asyncio.timeout(5):
        assert await own.call(["ECHO", "after"]) == b"after"
    assert batches == [[pack(["ECHO", "after"])]]


async def test_a_call_that_cannot_be_encoded_leaves_nobody_hanging(own: Client) -> None:
    """A mistake of ours fails at once, and the connection goes on."""
    good, bad = ("ECHO", "good"), ("ECHO", "\ud800")
    replies = await asyncio.gather(own.call(bad), own.call(good), return_exceptions=True)
    assert isinstance(replies[0], UnicodeEncodeError)
    assert replies[1] == b"good"


async def test_large_payloads_are_split_by_size(own: Client, batches: list[list[bytes]]) -> None:
    """Megabytes go out in several batches and come back whole."""
    payloads = [bytes([n]) * (1 << 20) for n in range(20)]
    replies = await asyncio.gather(*(own.call(["ECHO", payload]) for payload in payloads))
    assert replies == payloads
    for batch in batches:
        assert sum(map(len, batch)) <= MOST_BYTES_IN_BATCH
    assert len(batches) >= 5


async def test_one_payload_larger_than_a_batch_is_sent_alone(own: Client) -> None:
    """The bound splits batches, it refuses nothing."""
    huge = b"x" * (MOST_BYTES_IN_BATCH + 1)
    first, second = await asyncio.gather(own.call(["ECHO", huge]), own.call(["ECHO", "small"]))
    assert (len(first), second) == (len(huge), b"small")


async def test_inputs_of_a_mebibyte_arrive_whole(store: Store) -> None:
    """Many at once, on one server and on a cluster."""
    inputs = [bytes([n]) * (1 << 20) for n in range(12)]
    ids = await asyncio.gather(*(create_one(store, input=payload) for payload in inputs))
    assert await asyncio.gather(*map(store.queries.input, ids)) == inputs


async def test_many_functions_share_batches(
    single_store: Store, batches: list[list[bytes]]
) -> None:
    """What holds for commands holds for operations of the store, 64 of which share a call."""
    ids = await asyncio.gather(*(create_one(single_store) for _ in range(500)))
    assert len(set(ids)) == 500
    assert sum(map(len, batches)) == 8
    assert len(batches) <= 4
    states = await asyncio.gather(*(state_of(single_store, one) for one in ids))
    assert set(states) == {State.WAITING}
    assert sum(map(len, batches)) == 508
    assert len(batches) <= 8


async def test_a_closed_client_refuses_calls(single_server: TestServer) -> None:
    """The caller learns that nothing was sent."""
    url = StoreUrl(addresses=(("127.0.0.1", single_server.port),))
    client = await Client.connect(url, timeout_ms=5_000)
    waiting = asyncio.ensure_future(client.call(["ECHO", "x"]))
    await asyncio.sleep(0)
    await client.close()
    for call in (waiting, client.call(["ECHO", "y"])):
        with pytest.raises(CallFailed):
            await call


async def test_a_fault_of_one_function_reaches_its_caller_only(single_store: Store) -> None:
    """A damaged record is reported as such; calls beside it go on."""
    made = await create_one(single_store)
    tag = single_store.tag_of(made)
    await single_store.client.call(["SET", f"{tag}:x:broken", "not a record"])
    replies = await asyncio.gather(
        single_store.queries.describe("broken"),
        single_store.queries.describe(made),
        return_exceptions=True,
    )
    assert isinstance(replies[0], StoreFault)
    assert not isinstance(replies[1], BaseException)
    assert replies[1].id == made
    assert isinstance(replies[0], HoldfastError)

"""Calls that are sent together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from holdfast.errors import StoreUnavailable
from holdfast.store import batches
from holdfast.store.batches import Batches, accepted
from holdfast.store.restrictions import restricted
from holdfast.store.valkey.call import Caller


class Server:
    """Answers each item with its second value; holds calls back while it is closed."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, list[Any]]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.error: Exception | None = None

    async def write(self, function: str, tag: str, *args: Any) -> list[Any]:
        """Answer a call."""
        self.calls.append((function, tag, list(args)))
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return [[b"ok", value] for _, value in zip(args[::2], args[1::2], strict=False)]

    async def reached(self, count: int) -> None:
        """Wait for a number of calls."""
        while len(self.calls) < count:  # noqa: ASYNC110 - a turn of the loop is the unit here
            await asyncio.sleep(0)

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[None]:
        """Hold calls back."""
        self.open.clear()
        yield
        self.open.set()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def calls(server: Server) -> Batches:
    return Batches(cast("Caller", server), "hf_execution_complete_all")


def sizes(server: Server) -> list[int]:
    return [len(args) // 2 for _, _, args in server.calls]


async def test_calls_of_one_moment_travel_together(server: Server, calls: Batches) -> None:
    """Those of another partition go apart, and each gets its own answer."""
    answers = await asyncio.gather(
        calls.call("t1", ("a", b"1")), calls.call("t1", ("b", b"2")), calls.call("t2", ("c", b"3"))
    )
    assert list(answers) == [[b"ok", b"1"], [b"ok", b"2"], [b"ok", b"3"]]
    assert [(tag, args) for _, tag, args in server.calls] == [
        ("t1", ["a", b"1", "b", b"2"]),
        ("t2", ["c", b"3"]),
    ]


async def test_no_answer_accepts_all(
    server: Server, calls: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that has accepted every item need not say it of each."""

    async def write(*_: Any) -> list[Any]:
        return []

    monkeypatch.setattr(server, "write", write)
    answers = await asyncio.gather(calls.call("t", ("a", b"1")), calls.call("t", ("b", b"2")))
    assert [accepted(answer) for answer in answers] == [[], []]


async def test_calls_that_come_meanwhile_go_in_the_next(server: Server, calls: Batches) -> None:
    """A lone call is sent without delay; the others wait for its answer, then go together."""
    async with server.closed():
        first = asyncio.ensure_future(calls.call("t", ("a", b"1")))
        await server.reached(1)
        others = [asyncio.ensure_future(calls.call("t", (f"b{n}", b"2"))) for n in range(5)]
        await asyncio.sleep(0)
        assert sizes(server) == [1]
    await asyncio.gather(first, *others)
    assert sizes(server) == [1, 5]


async def test_a_full_call_does_not_wait(server: Server, calls: Batches) -> None:
    """One call that takes long does not hold up a crowd of callers."""
    async with server.closed():
        first = asyncio.ensure_future(calls.call("t", ("a", b"1")))
        await server.reached(1)
        many = [asyncio.ensure_future(calls.call("t", (f"b{n}", b"2"))) for n in range(70)]
        await server.reached(3)
    await asyncio.gather(first, *many)
    assert sizes(server) == [1, 64, 6]


async def test_large_items_are_sent_apart(
    server: Server, calls: Batches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call has at least one item, however large it is."""
    monkeypatch.setattr(batches, "MOST_BYTES", 100)
    await asyncio.gather(*(calls.call("t", (f"b{n}", b"x" * 60)) for n in range(3)))
    await calls.call("t", ("c", b"x" * 200))
    assert sizes(server) == [1, 1, 1, 1]


async def test_a_failure_reaches_every_caller(server: Server, calls: Batches) -> None:
    """And the next call starts afresh."""
    server.error = StoreUnavailable("gone")
    answers = await asyncio.gather(
        *(calls.call("t", (f"a{n}", b"1")) for n in range(3)), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    server.error = None
    assert await calls.call("t", ("b", b"1")) == [b"ok", b"1"]


async def test_a_caller_that_leaves_is_not_sent(server: Server, calls: Batches) -> None:
    """One whose item is under way leaves the others unharmed."""
    async with server.closed():
        first = asyncio.ensure_future(calls.call("t", ("a", b"1")))
        await server.reached(1)
        gone, stays = (
            asyncio.ensure_future(calls.call("t", (name, b"2"))) for name in ("gone", "stays")
        )
        await asyncio.sleep(0)
        first.cancel()
        gone.cancel()
    assert await stays == [b"ok", b"2"]
    assert server.calls[1][2] == ["stays", b"2"]


async def test_tenants_travel_apart(server: Server, calls: Batches) -> None:
    """A call on behalf of a tenant carries it, and no item of another."""

    async def call_for(tenant: str, name: str) -> None:
        with restricted(tenant, [name]) as restriction:
            await calls.call("t", (name, b"1"))
            assert restriction.checked

    await asyncio.gather(
        call_for("acme", "a"),
        call_for("bolt", "b"),
        call_for("acme", "c"),
        calls.call("t", ("d", b"1")),
    )
    assert sorted((function, args) for function, _, args in server.calls) == [
        ("hf_execution_complete_all", ["d", b"1"]),
        ("hf_owned_execution_complete_all", ["a", b"1", "c", b"1", "acme"]),
        ("hf_owned_execution_complete_all", ["b", b"1", "bolt"]),
    ]


async def test_nothing_is_kept_of_past_calls(calls: Batches) -> None:
    """A server of many tenants does not grow."""
    for n in range(10):
        with restricted(f"t{n}", ["a"]):
            await calls.call("t", ("a", b"1"))
    await asyncio.sleep(0)
    assert calls._lines == {}

"""Writer leases over HTTP: whose clock counts, and trouble on the way."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from holdfast.client.writer_leases import RemoteWriterLeases
from holdfast.errors import BackendFailed, Held
from tests.support.leases import KEY, ask
from tests.support.objects import FakeTimes
from tests.unit.client.test_client import Answer, Lost, client_of, problem

LEASE: dict[str, Any] = {
    "key": KEY,
    "holder": "a",
    "incarnation": "a-1",
    "token": {"term": 1, "generation": 7},
    "acquired_at": "2026-01-01T00:00:00.000Z",
    "expires_at": "2026-01-01T00:00:01.000Z",
    "ttl_ms": 1_000,
    "margin_ms": 100,
    "released": False,
    "successor": None,
    "holders": [],
}


@contextlib.asynccontextmanager
async def leases_of(
    answer: Answer, times: FakeTimes | None = None
) -> AsyncIterator[RemoteWriterLeases]:
    async with client_of(answer) as client:
        yield RemoteWriterLeases(client._http, times or FakeTimes())


async def test_the_deadline_counts_from_before_the_first_request() -> None:
    """A slow answer, and one that was lost and asked for again, use up the time of the lease."""
    times, calls = FakeTimes(), 0

    def slow(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        times.now_ms += 200
        if calls == 1:
            raise Lost
        return httpx.Response(201, json=LEASE)

    async with leases_of(slow, times) as leases:
        grant = await leases.acquire(KEY, ask())
        assert calls == 2
        assert grant.deadline_ms - times.now_ms == 1_000 - 100 - 400
        assert (await leases.refresh(grant)).deadline_ms - times.now_ms == 1_000 - 100 - 200


async def test_expiry_by_another_clock_decides_nothing() -> None:
    """The server's clock may be wrong by years."""
    times = FakeTimes()
    view = {**LEASE, "expires_at": "2001-01-01T00:00:00.000Z"}
    async with leases_of(lambda _: httpx.Response(201, json=view), times) as leases:
        assert (await leases.acquire(KEY, ask())).deadline_ms == times.now_ms + 900


@pytest.mark.parametrize(
    ("answer", "maybe_done"),
    [
        (problem(503, "store_unavailable"), False),
        (problem(429, "rate_limited"), False),
        (None, True),
    ],
)
async def test_trouble_is_that_of_a_backend(
    answer: httpx.Response | None, *, maybe_done: bool
) -> None:
    """So the holder goes on saving its lease, until its own deadline."""

    def trouble(_: httpx.Request) -> httpx.Response:
        if answer is None:
            raise Lost
        return answer

    async with leases_of(trouble) as leases:
        with pytest.raises(BackendFailed) as raised:
            await leases.acquire(KEY, ask())
    assert raised.value.maybe_done is maybe_done


async def test_a_refusal_says_how_long_to_wait() -> None:
    """Contenders come back then."""
    async with leases_of(lambda _: problem(409, "held", holder="b", wait_ms=700)) as leases:
        with pytest.raises(Held) as raised:
            await leases.acquire(KEY, ask())
    assert raised.value.context["wait_ms"] == 700

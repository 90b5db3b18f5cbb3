"""What routes answer when the store fails, in each way that it can: exactly what they declare."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from holdfast.engine import Engine, opened_endpoints
from holdfast.errors import PayloadUnreadable
from holdfast.server.auth import identity
from holdfast.server.http import openapi, problems
from holdfast.store.store import Store, StoreSettings
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.urls import StoreUrl
from holdfast.store.valkey.wire import Command
from holdfast.testing.servers import TestServer, start_server
from tests.server.answers.recipes import ROUTES, WAYS, Stage, staged, ways_of
from tests.server.samples import Request
from tests.support.fault_injection import before_calls

UNAVAILABLE = 503


@contextlib.asynccontextmanager
async def impatient(server: TestServer, folder: Path) -> AsyncIterator[Stage]:
    """Serve a store that is given up soon when it does not answer."""
    url = StoreUrl(addresses=(("127.0.0.1", server.port),), partitions=1)
    client = await Client.connect(url, timeout_ms=5_000, try_timeout_ms=1_000)
    store = Store(client, url, StoreSettings(call_timeout_ms=20, fake_clock=True))
    await store.boot()
    engine = Engine(store)
    async with staged(engine, folder) as stage:
        yield stage
    await engine.close()
    await client.close()


async def lose_reply(command: Command) -> None:
    """Lose the reply if something may have changed; objects are only read like a write."""
    if command[0] == "FCALL" and command[1] != "hf_object_get":
        raise CallFailed("lost", sent=True, answered=False)


class Answers:
    """Sends what would succeed, to every route at once, and keeps the codes of what did not."""

    def __init__(self, stage: Stage, requests: dict[str, Request]) -> None:
        self._stage = stage
        self._requests = requests
        self.codes: dict[str, set[str]] = {name: set() for name in requests}

    async def ask(self, **headers: str) -> None:
        """Send to all, with these headers."""
        requests = [
            {**request, "headers": {**request.get("headers", {}), **headers}}
            for request in self._requests.values()
        ]
        answers = await asyncio.gather(*map(self._stage.send, requests))
        for name, answer in zip(self._requests, answers, strict=True):
            if answer.is_error:
                self._keep(name, answer)

    def _keep(self, name: str, answer: httpx.Response) -> None:
        problem = answer.json()
        assert (answer.status_code, problem["retryable"]) == (UNAVAILABLE, True), problem
        assert answer.headers["retry-after"] == "1"
        self.codes[name].add(problem["code"])


async def test_routes_declare_what_they_answer_when_the_store_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica, lost replies, no memory left, no server: neither more nor less than declared."""
    # Who is known stays so, however slow the machine is.
    monkeypatch.setattr(identity, "FRESH_S", 600.0)
    # And what an endpoint is, is asked each time.
    monkeypatch.setattr(opened_endpoints, "KNOWN_S", -1.0)
    with start_server() as server, server.raw() as raw:
        async with impatient(server, tmp_path) as stage:
            requests: dict[str, Request] = {}
            for name, route in ROUTES.items():
                found = ways_of(name)[route.statuses[0]]
                assert found is not None
                came = await found(stage, name)
                assert not isinstance(came, httpx.Response)
                requests[name] = came
            answers = Answers(stage, requests)
            raw.replicaof("127.0.0.1", "1")
            await answers.ask()
            raw.replicaof("NO", "ONE")
            with before_calls(stage.engine.store.client, lose_reply):
                await answers.ask()
            raw.config_set("maxmemory", 1)
            await answers.ask()
            raw.config_set("maxmemory", 0)
            assert (await stage.send(requests["GET /v1/tasks"])).is_success
            server.process.kill()
            # Once that is known, nothing is sent, so that nothing is unclear.
            assert not (await stage.send(requests["GET /v1/tasks"])).is_success
            await answers.ask()
            await answers.ask(Authorization="Bearer of-nobody-that-we-know")
    got = {(name, code) for name, codes in answers.codes.items() for code in codes}
    declared = {
        (name, error.code)
        for name, route in ROUTES.items()
        for error in openapi.refusals(route)
        # What lacks a key of the codec is in test_encryption.py.
        if problems.status_of(error) == UNAVAILABLE and error is not PayloadUnreadable
    }
    assert (got - declared, declared - got - WAYS.keys()) == (set(), set())

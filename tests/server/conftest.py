"""A server in the test's event loop, on a store of the test's own, and callers of every kind."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from playwright.async_api import expect
from starlette.requests import Request
from starlette.responses import Response

from holdfast.engine import Engine
from holdfast.model.api_keys import Role
from holdfast.model.files import FileLimits
from holdfast.model.sight import Payloads
from holdfast.server.chat.doors import EVERY, Door
from holdfast.server.http import openapi, problems
from holdfast.server.http.declare import Route
from holdfast.server.http.pipeline import Pipeline
from holdfast.server.run import Server, serving
from holdfast.server.settings import ServerSettings
from holdfast.store.store import Store
from holdfast.store.valkey.client import Client
from holdfast.testing.clock import Clock
from holdfast.testing.servers import TestServer, start_server
from tests.conftest import make_store

#: Pages are slow where three test processes share two cores; a test that passes does not wait.
expect.set_options(timeout=30_000)

#: The tenants of the tests: whose things they are, and who else is there.
OURS, THEIRS = "ours", "theirs"


@dataclass(frozen=True, slots=True)
class Site:
    """A running server and how to call it."""

    server: Server
    engine: Engine
    url: str

    async def key(self, *roles: str, tenant: str | None = OURS, **options: Any) -> str:
        """Create a key and return its secret. It sees all payloads: tests share rules."""
        chosen = roles or (Role.ADMIN,)
        options.setdefault("payloads", Payloads.ALL)
        _, secret = await self.engine.api_keys.create(roles=chosen, tenant=tenant, **options)
        return secret

    @contextlib.asynccontextmanager
    async def client(self, secret: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
        """Call with a key, or without."""
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        transport = httpx.AsyncHTTPTransport(verify=False)
        async with httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=30, transport=transport
        ) as client:
            yield client


Serve = Callable[..., AbstractAsyncContextManager[Site]]


@pytest.fixture(autouse=True)
def _answers_are_declared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test asks of a route of a server in its process: the answer is a declared one."""
    answer = Pipeline._answer
    undeclared: list[tuple[str, str, int, str]] = []

    async def checked(self: Pipeline, request: Request, route: Route) -> Response:
        response = await answer(self, request, route)
        if response.media_type == problems.MEDIA_TYPE:
            code = json.loads(bytes(response.body))["code"]
            is_declared = code in {error.code for error in openapi.refusals(route)}
        else:
            code = ""
            is_declared = response.status_code in route.statuses
            # Nobody gets the answer to a caller who has left, so it has no body.
            if response.status_code == 400 and not response.body:
                is_declared = is_declared or await request.is_disconnected()
        if not is_declared:
            undeclared.append((route.method, route.path, response.status_code, code))
        return response

    monkeypatch.setattr(Pipeline, "_answer", checked)
    yield
    assert not undeclared


@pytest.fixture
async def engine(single_store: Store) -> AsyncIterator[Engine]:
    """An engine whose timers fire only when a test moves the clock."""
    engine = Engine(single_store)
    yield engine
    await engine.close()


@pytest.fixture
def clock(single_store: Store) -> Clock:
    return Clock(single_store)


@pytest.fixture
def serve(engine: Engine) -> Serve:
    """Run a server with other settings for as long as a block runs."""

    @contextlib.asynccontextmanager
    async def run(**settings: Any) -> AsyncIterator[Site]:
        async with serving(engine, ServerSettings(port=0, **settings)) as (server, url):
            yield Site(server, engine, url)

    return run


@pytest.fixture
async def site(serve: Serve) -> AsyncIterator[Site]:
    """A server on loopback whose store has no keys until a test creates one."""
    async with serve() as site:
        yield site


@pytest.fixture(scope="session")
async def shared_site(single_client: Client) -> AsyncIterator[Site]:
    """A server that many tests share; there are keys, so calls without one are refused."""
    store = await make_store(single_client, 1)
    engine = Engine(store)
    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    settings = ServerSettings(
        port=0,
        rate=0,
        web_chats=doors,
        web_chat_rate=10_000,
        web_chat_files=FileLimits(),
    )
    async with serving(engine, settings) as (server, url):
        site = Site(server, engine, url)
        await site.key(tenant=None)
        yield site
    await engine.close()


@pytest.fixture
async def operator(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """Calls with a key that may do everything for every tenant."""
    async with site.client(await site.key(tenant=None)) as client:
        yield client


@pytest.fixture
async def anyone(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """Calls without a key."""
    async with site.client() as client:
        yield client


@pytest.fixture(scope="session")
def real_server() -> Iterator[TestServer]:
    """A Valkey server whose stores run on the real clock, for processes."""
    with start_server() as server:
        yield server

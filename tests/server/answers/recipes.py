"""Ways to get each answer that a route declares: a status of success, or the code of a refusal.

A module for each noun registers its own; tests/server/test_answers.py walks over the routes and
misses what nobody registered. Without one, the example of a route about a thing that exists is the
way to its first status, and about a thing that does not exist the way to the error of its owner.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from holdfast.engine import Engine
from holdfast.model.executions import Claim
from holdfast.model.files import FileLimits
from holdfast.model.ids import new_id
from holdfast.server.chat.doors import EVERY, Door
from holdfast.server.http.declare import Route, Scope
from holdfast.server.routes import all_routes
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, Serve, Site
from tests.server.samples import Request, parameters, request_of, send, values_of
from tests.support.fault_injection import meanwhile

#: A status of success, or the code of a refusal.
Answer = int | str

#: It names its deployment in the body, so it has its own ways.
HANDLE = "POST /v1/envs/{env}/tenants/{tenant}/activities"
ROUTES: dict[str, Route] = {f"{route.method} {route.path}": route for route in all_routes()}


@dataclass(frozen=True, slots=True)
class Stage:
    """A server, and callers who may do everything: in one tenant, or in all."""

    engine: Engine
    clock: Clock
    client: httpx.AsyncClient
    #: Secrets of API keys.
    ours: str
    operator: str
    #: Runs another server on the same store, with other settings.
    serve: Serve
    #: An empty one.
    folder: Path

    async def request(
        self,
        name: str,
        path: Mapping[str, str] | None = None,
        *,
        key: str | None = None,
        **changes: Any,
    ) -> Request:
        """Return a request of a route: its example with changes, about a sample unless told."""
        route = ROUTES[name]
        values = path or await values_of(route, self.engine, OURS)
        request = request_of(route, route.path.format_map(values))
        if changes:
            place = "params" if route.body is None else "json"
            request[place] = {**request.get(place, {}), **changes}
        if route.scope is Scope.SYSTEM and "tenant" in getattr(
            route.query, "__struct_fields__", ()
        ):
            request["params"] = {**request.get("params", {}), "tenant": OURS}
        key = key or (self.operator if route.scope is Scope.SYSTEM else self.ours)
        return {**request, "headers": {"Authorization": f"Bearer {key}"}}

    async def send(self, request: Request) -> httpx.Response:
        """Send a request."""
        return await send(self.client, request)

    async def sent(self, request: Request) -> Request:
        """Send a request and return it, to be sent again."""
        response = await self.send(request)
        assert response.is_success, response.text
        return request

    async def claimed(self, **fields: Any) -> Claim:
        """Submit an execution and claim it."""
        lane = f"lane-{new_id()}"
        await self.engine.submit("work", tenant=OURS, lane=lane, **fields)
        return await self.claim(lane)

    async def claim(self, lane: str) -> Claim:
        """Claim from a lane."""
        async with self.engine.claimer(worker="w", lanes=[lane]) as claimer:
            (claim,) = await claimer.claim(1, 60_000)
        return claim

    async def ended(self, **fields: Any) -> str:
        """Return an execution that has completed."""
        claim = await self.claimed(**fields)
        await self.engine.complete(claim.id, claim.lease, b"17")
        return claim.id

    async def draining(self) -> str:
        """Return a lane that takes nothing new."""
        lane = f"lane-{new_id()}"
        await self.engine.lanes.drain(lane)
        return lane

    async def write(self, *command: str | bytes) -> None:
        """Write to the store behind its back."""
        await self.engine.store.client.call(command)

    def meanwhile(
        self, function: str, action: Callable[[], Awaitable[Any]]
    ) -> contextlib.AbstractContextManager[None]:
        """Have something else done just before a function of the library is called."""
        return meanwhile(self.engine.store.client, function, action)


#: It sets the stage and returns what to send then; or the answer, if that takes more.
Way = Callable[[Stage, str], Awaitable[Request | httpx.Response]]
W = TypeVar("W", bound=Way)

WAYS: dict[tuple[str, Answer], Way] = {}


def way(answer: Answer, *names: str) -> Callable[[W], W]:
    """Register a way to this answer of these routes; it is called with the name of the route."""

    def register(found: W) -> W:
        for name in names:
            assert (name, answer) not in WAYS, f"a second way to {answer} of {name}"
            WAYS[name, answer] = found
        return found

    return register


async def by_example(stage: Stage, name: str) -> Request:
    """Return the example, about a thing that exists."""
    return await stage.request(name)


async def about_nothing(stage: Stage, name: str) -> Request:
    """Return the example, about a thing that does not exist, of a caller who may see all."""
    nothing = dict.fromkeys(parameters(ROUTES[name]), "nothing")
    return await stage.request(name, nothing, key=stage.operator)


def ways_of(name: str) -> dict[Answer, Way | None]:
    """Return the ways to what a route declares of its own; None where one is missing."""
    route = ROUTES[name]
    first, *others = route.statuses
    found: dict[Answer, Way | None] = {first: by_example}
    found |= dict.fromkeys(others)
    found |= dict.fromkeys(error.code for error in route.errors)
    if route.owner is not None:
        found[type(route.owner.missing("")).code] = about_nothing
    return {answer: WAYS.get((name, answer), default) for answer, default in found.items()}


@contextlib.asynccontextmanager
async def staged(engine: Engine, folder: Path) -> AsyncIterator[Stage]:
    """Run a server with keys while the block runs."""

    @contextlib.asynccontextmanager
    async def serve(**settings: Any) -> AsyncIterator[Site]:
        async with serving(engine, ServerSettings(port=0, **settings)) as (server, url):
            yield Site(server, engine, url)

    doors = (Door(env="local", name=EVERY, tenant=OURS),)
    async with (
        serve(
            rate=0,
            trusted_peers=("127.0.0.1",),
            web_chats=doors,
            web_chat_rate=10_000,
            web_chat_files=FileLimits(most_files=3),
        ) as site,
        site.client() as client,
    ):
        yield Stage(
            engine=engine,
            clock=Clock(engine.store),
            client=client,
            ours=await site.key(),
            operator=await site.key(tenant=None),
            serve=serve,
            folder=folder,
        )


def declaring(code: str) -> list[str]:
    """Return the routes that declare this refusal of their own."""
    return [
        name for name, route in ROUTES.items() if code in {error.code for error in route.errors}
    ]

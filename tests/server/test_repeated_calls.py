"""Calls that are repeated because their replies were lost: with the header `Idempotency-Key`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, NamedTuple

import httpx
import pytest

from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.server.routes import all_routes
from tests.lua.test_once import PACK, REMOVALS
from tests.server.conftest import Site
from tests.support.conversing import NAME, key, message, publish
from tests.support.limits import make_budget, report, standing
from tests.support.proxy import open_proxy
from tests.support.queues import push, read, settle

Step = Callable[[Engine], Awaitable[object]]

SESSION = key().id


class Case(NamedTuple):
    """A call: how what it undoes is made, where it goes, and what there is of it."""

    make: Step
    where: str
    state: Step
    body: dict[str, Any] | None = None


def _stored(part: str) -> Step:
    """Make something as the tests of the store do."""
    return lambda engine: REMOVALS[part][0](engine.store)


async def _limit(engine: Engine) -> None:
    await REMOVALS["quotas"][0](engine.store)
    await engine.quotas.rules.attach("q", lane="mail")


async def _limit_budget(engine: Engine) -> None:
    if not (await engine.budgets.list())[0]:
        await make_budget(engine.store)
    await engine.budgets.rules.attach("b", lane="mail")


async def _lift(engine: Engine) -> None:
    await _limit(engine)
    await engine.quotas.rules.detach("q", lane="mail")


async def _lift_budget(engine: Engine) -> None:
    await _limit_budget(engine)
    await engine.budgets.rules.detach("b", lane="mail")


async def _limits(engine: Engine) -> object:
    rules = [*await engine.quotas.rules.list(), *await engine.budgets.rules.list()]
    return await engine.quotas.list(), rules


async def _fill(engine: Engine) -> None:
    for name in ("q", "other"):
        await engine.queues.define(name)
    await push(engine, b"1", b"2")


async def _bury(engine: Engine) -> None:
    await engine.queues.define("q", max_attempts=1, dead_letter="dead")
    await push(engine, b"1", b"2")
    await settle(engine, "reject", *await read(engine))


async def _add_group(engine: Engine) -> None:
    await engine.queues.define("q", mode="fanout")
    await engine.queues.add_group("q", "g")


async def _charge(engine: Engine) -> None:
    if not (await engine.budgets.list())[0]:
        await make_budget(engine.store)
    await report(engine.store, 7)


async def _begin(engine: Engine) -> None:
    await publish(engine)
    await engine.sessions.deliver(NAME, message("hello"))


async def _give_back(engine: Engine) -> None:
    await _begin(engine)
    await engine.sessions.handover(SESSION, None)


async def _queue(engine: Engine) -> object:
    stats = await engine.queues.stats("q")
    return stats.stored, sorted(stats.groups)


_RULE = {"subject": "lane", "value": "mail"}

#: By the route.
CASES: dict[str, Case] = {
    "DELETE /v1/schedules/{id}": Case(
        _stored("schedules"), "/v1/schedules/daily", lambda e: e.schedules.list()
    ),
    "DELETE /v1/secrets/{name}": Case(
        _stored("secrets"),
        "/v1/secrets/api_key?tenant=acme&env=prod",
        lambda e: e.secrets.list(tenant="acme", env="prod"),
    ),
    "DELETE /v1/quotas/{id}": Case(_limit, "/v1/quotas/q", _limits),
    "DELETE /v1/envs/{env}/endpoints/{endpoint}": Case(
        _stored("endpoints"),
        "/v1/envs/local/endpoints/inbox",
        lambda e: e.endpoints.list(env="local", tenant="acme"),
    ),
    "DELETE /v1/envs/{env}": Case(_stored("envs"), "/v1/envs/prod", lambda e: e.envs.list()),
    "DELETE /v1/packs/{digest}": Case(
        _stored("packs"),
        f"/v1/packs/{PACK.digest}?tenant=acme",
        lambda e: e.packs.list(tenant="acme"),
    ),
    "DELETE /v1/workers/{instance}": Case(
        _stored("workers"), "/v1/workers/w1-a", lambda e: e.workers.list()
    ),
    "DELETE /v1/envs/{env}/deployments/{d}": Case(
        _stored("deployments"),
        "/v1/envs/local/deployments/talk",
        lambda e: e.deployments.list("local"),
    ),
    "DELETE /v1/queues/{name}": Case(_fill, "/v1/queues/other", lambda e: e.queues.list()),
    "DELETE /v1/queues/{name}/groups/{group}": Case(_add_group, "/v1/queues/q/groups/g", _queue),
    "POST /v1/queues/{name}/purge": Case(_fill, "/v1/queues/q/purge", _queue, {}),
    "POST /v1/queues/{name}/move": Case(
        _fill, "/v1/queues/q/move", _queue, {"to": "other", "limit": 1}
    ),
    "POST /v1/queues/{name}/redrive": Case(
        _bury, "/v1/queues/dead/redrive", _queue, {"to": "q", "limit": 1}
    ),
    "POST /v1/budgets/{id}/reset": Case(
        _charge, "/v1/budgets/b/reset", lambda e: standing(e.store), {}
    ),
    **{
        f"POST /v1/{noun}/{{id}}/{verb}": Case(make, f"/v1/{noun}/{name}/{verb}", _limits, _RULE)
        for noun, name, verb, make in (
            ("quotas", "q", "attach", _lift),
            ("quotas", "q", "detach", _limit),
            ("budgets", "b", "attach", _lift_budget),
            ("budgets", "b", "detach", _limit_budget),
        )
    },
    "POST /v1/sessions/{id}/end": Case(
        _begin, f"/v1/sessions/{SESSION}/end", lambda e: e.sessions.get(SESSION), {}
    ),
    "POST /v1/sessions/{id}/handover": Case(
        _give_back,
        f"/v1/sessions/{SESSION}/handover",
        lambda e: e.sessions.get(SESSION),
        {"to": "ann"},
    ),
}


async def ask(client: httpx.AsyncClient, route: str, name: str | None) -> httpx.Response:
    """Make the call of a route, with a name for it."""
    case = CASES[route]
    headers = {} if name is None else {"Idempotency-Key": name}
    method = route.partition(" ")[0]
    return await client.request(method, case.where, json=case.body, headers=headers)


@pytest.mark.parametrize("route", CASES)
async def test_a_repeated_call_leaves_what_was_made_since(site: Site, route: str) -> None:
    """It gets the first answer; a call of another name is another call."""
    case, engine = CASES[route], site.engine
    async with site.client() as client:
        await case.make(engine)
        first = await ask(client, route, "one")
        assert first.is_success
        await case.make(engine)
        stands = await case.state(engine)
        again = await ask(client, route, "one")
        assert again.status_code == first.status_code
        assert await case.state(engine) == stands
        assert (await ask(client, route, "two")).is_success
        assert await case.state(engine) != stands


@pytest.mark.parametrize("route", [route for route in CASES if route.startswith("DELETE")])
async def test_a_repeated_removal_has_succeeded(site: Site, route: str) -> None:
    """What it removed is gone; without a name it learns so."""
    async with site.client() as client:
        await CASES[route].make(site.engine)
        for _ in range(2):
            assert (await ask(client, route, "one")).status_code == 204
        expected = 204 if "workers" in route else 404
        assert (await ask(client, route, None)).status_code == expected


def test_every_route_that_takes_a_key_is_tried_here() -> None:
    """And says so in the OpenAPI document."""
    taking = {f"{route.method} {route.path}" for route in all_routes() if route.takes_key}
    assert taking == CASES.keys()


async def test_the_document_names_the_header(site: Site) -> None:
    """For these routes, and no others."""
    async with site.client() as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    naming = {
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method, operation in methods.items()
        if any(one["name"] == "Idempotency-Key" for one in operation.get("parameters", ()))
    }
    assert naming == CASES.keys()


async def test_each_caller_has_keys_of_its_own(site: Site) -> None:
    """Two callers may use the same one."""
    await _begin(site.engine)
    for _ in range(2):
        secret = await site.key(tenant=None)
        async with site.client(secret) as client:
            assert (await ask(client, "POST /v1/sessions/{id}/end", "one")).is_success
        session = await site.engine.sessions.get(SESSION)
        assert session.execution is None
        await _begin(site.engine)


async def test_a_key_stands_for_one_call(site: Site) -> None:
    """Given for another one as well, it names that one, too."""
    engine = site.engine
    await _begin(engine)
    async with site.client() as client:
        where = f"/v1/sessions/{SESSION}/handover"
        for person in ("ann", "bea", "ann"):
            headers = {"Idempotency-Key": "one"}
            answer = await client.post(where, json={"to": person}, headers=headers)
            assert answer.json()["person"] == person
    assert (await engine.sessions.get(SESSION)).person == "bea"


@pytest.mark.parametrize("name", ["", "x" * 257])
async def test_a_key_that_cannot_be_one_is_refused(site: Site, name: str) -> None:
    """Before anything happens."""
    await _begin(site.engine)
    async with site.client() as client:
        answer = await ask(client, "POST /v1/sessions/{id}/end", name)
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")
    assert (await site.engine.sessions.get(SESSION)).execution is not None


FAR: dict[str, Callable[[Client], Awaitable[object]]] = {
    "DELETE /v1/schedules/{id}": lambda far: far.schedules.delete("daily"),
    "DELETE /v1/quotas/{id}": lambda far: far.quotas.delete("q"),
    "DELETE /v1/envs/{env}": lambda far: far.envs.delete("prod"),
    "POST /v1/queues/{name}/purge": lambda far: far.queues.purge("q"),
    "POST /v1/budgets/{id}/reset": lambda far: far.budgets.reset("b"),
    "POST /v1/sessions/{id}/end": lambda far: far.sessions.end(SESSION),
    "POST /v1/sessions/{id}/handover": lambda far: far.sessions.handover(SESSION, "ann"),
}


@pytest.mark.parametrize("route", FAR)
async def test_the_client_names_its_calls(site: Site, route: str) -> None:
    """It sends a call again whose answer was lost, and leaves what was made in between."""
    case, engine, loop = CASES[route], site.engine, asyncio.get_running_loop()
    port = httpx.URL(site.url).port
    assert port is not None

    def make() -> None:
        asyncio.run_coroutine_threadsafe(made(), loop).result(10)

    stands: list[object] = []

    async def made() -> None:
        await case.make(engine)
        stands.append(await case.state(engine))

    await case.make(engine)
    with open_proxy(port, Random(0)) as proxy:
        async with Client(f"http://127.0.0.1:{proxy.port}") as far:
            proxy.cut_at(f"{route.partition(' ')[0]} {case.where}".encode(), on_lost=make)
            await FAR[route](far)
    assert stands == [await case.state(engine)]

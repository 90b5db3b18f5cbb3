"""Every answer that a route declares is got from it, and is the one that was declared."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from holdfast.engine import Engine
from holdfast.server.http import openapi, problems
from holdfast.server.http.declare import Scope
from holdfast.store.valkey.client import Client
from tests.conftest import make_store
from tests.server.answers.open_calls import until_limited
from tests.server.answers.recipes import ROUTES, WAYS, Answer, Stage, about_nothing, staged, ways_of
from tests.server.test_every_route import assert_problem

UNAVAILABLE = 503


def _is_fault(name: str, answer: Answer) -> bool:
    """Whether the store must fail for it, as in test_store_faults.py."""
    errors = {error.code: error for error in ROUTES[name].errors}
    return answer in errors and problems.status_of(errors[answer]) == UNAVAILABLE


ANSWERS = {
    (name, answer): found
    for name in ROUTES
    for answer, found in ways_of(name).items()
    if found is not None or not _is_fault(name, answer)
}


@pytest.fixture(scope="module", params=["single", "cluster"])
def client(request: pytest.FixtureRequest) -> Client:
    """One node, and a cluster."""
    found: Client = request.getfixturevalue(f"{request.param}_client")
    return found


@pytest.fixture(scope="module")
async def stage(client: Client, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One server for all of them: each makes things of its own."""
    engine = Engine(await make_store(client, 16 if client.cluster else 1))
    async with staged(engine, tmp_path_factory.mktemp("archives")) as stage:
        yield stage
    await engine.close()


def test_every_way_leads_to_an_answer_that_is_declared() -> None:
    """No way to what no route says it answers."""
    assert WAYS.keys() - ANSWERS.keys() == set()


async def test_every_route_that_needs_a_key_counts_against_its_rate(stage: Stage) -> None:
    """Refused before anything else is looked at, and told when to come back."""
    guarded = [name for name, route in ROUTES.items() if route.scope is not Scope.PUBLIC]
    async with stage.serve(rate=1) as site, site.client() as client:
        for name in guarded:
            response = await until_limited(client, await about_nothing(stage, name))
            assert_problem(response, 429, "rate_limited")
            assert (response.json()["retryable"], response.headers["retry-after"]) == (True, "1")


@pytest.mark.parametrize(("name", "answer"), ANSWERS, ids=[f"{n} {a}" for n, a in ANSWERS])
async def test_a_route_gives_each_answer_that_it_declares(
    name: str, answer: Answer, stage: Stage
) -> None:
    """A status of success, or a problem with its code."""
    found = ANSWERS[name, answer]
    assert found is not None, f"no way to {answer}: write one in tests/server/answers"
    came = await found(stage, name)
    response = came if isinstance(came, httpx.Response) else await stage.send(came)
    route = ROUTES[name]
    if isinstance(answer, int):
        assert response.status_code == answer, response.text
        if route.reply is not None and response.headers["content-type"] == "application/json":
            msgspec.json.decode(response.content, type=route.reply)
        if route.statuses == (201, 200) and "duplicate" in route.reply.__struct_fields__:
            assert response.json().get("duplicate", False) == (answer == 200)
    else:
        (error,) = {error for error in openapi.refusals(route) if error.code == answer}
        assert_problem(response, route.status_of(error), answer)

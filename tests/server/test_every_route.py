"""What holds for every route, made from the table, so that none can be forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from holdfast.model.api_keys import Role, id_of
from holdfast.model.audit import AuditLog
from holdfast.server.http import openapi, problems
from holdfast.server.http.declare import JSON, Route, Scope
from holdfast.server.routes import all_routes
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.samples import DERIVED, MAKERS, naming, parameters, path_of, request_of, send

ROUTES = all_routes()
NAMES = [f"{route.method} {route.path}" for route in ROUTES]
each_route = pytest.mark.parametrize("route", ROUTES, ids=NAMES)
guarded = [route for route in ROUTES if route.scope is not Scope.PUBLIC]
each_guarded_route = pytest.mark.parametrize(
    "route", guarded, ids=[f"{route.method} {route.path}" for route in guarded]
)


@pytest.fixture
async def operator(shared_site: Site) -> AsyncIterator[httpx.AsyncClient]:
    async with shared_site.client(await shared_site.key(tenant=None)) as client:
        yield client


#: Things whose names belong to their tenant: those of another tenant are not there.
MISSING = {
    "schedules": "schedule_not_found",
    "budgets": "budget_not_found",
    "quotas": "quota_not_found",
    "deployments": "deployment_not_found",
    "revisions": "deployment_not_found",
}


async def ask(
    client: httpx.AsyncClient, route: Route, path: str, tenant: str | None = None
) -> httpx.Response:
    """Call a route with its example, about a thing of a tenant."""
    request = request_of(route, path)
    if tenant is not None and parameters(route):
        request = naming(route, request, tenant) or request
    return await send(client, request)


def assert_problem(response: httpx.Response, status: int, code: str) -> None:
    """Check that an answer is a problem of this kind."""
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), problem
    assert response.headers["content-type"] == problems.MEDIA_TYPE
    assert problem.keys() >= {"type", "title", "status", "detail", "code", "retryable"}
    assert problem["status"] == status


def allowed(route: Route) -> set[int]:
    """Return every status that the route declares."""
    return {*route.statuses, *(route.status_of(error) for error in openapi.refusals(route))}


@each_route
def test_it_says_what_it_is_for(route: Route) -> None:
    """A sentence, a role, and for what changes something a log."""
    assert route.summary
    assert route.roles
    reads = route.method == "GET" or route.roles == (Role.VIEWER,)
    assert (route.audit is None) == reads or route.audit is AuditLog.CONTROL
    for name in parameters(route):
        known = {*MAKERS, *DERIVED}
        assert name in known or f"{route.tag}.{name}" in known, f"no sample of {name}"


@each_route
def test_only_a_deletion_answers_with_nothing(route: Route) -> None:
    """An action is 200."""
    assert (204 in route.statuses) == (route.method == "DELETE")


@each_route
async def test_its_example_gets_an_answer_that_it_declares(
    route: Route, shared_site: Site, operator: httpx.AsyncClient
) -> None:
    """With the right to everything, the example succeeds or is refused as declared."""
    path = await path_of(route, shared_site.engine, OURS)
    response = await ask(operator, route, path, OURS)
    assert response.status_code in allowed(route), response.text
    assert response.status_code < 500
    if response.is_error:
        assert response.json()["code"] in {one.code for one in openapi.refusals(route)}
    assert response.headers["x-request-id"]
    assert response.headers["x-content-type-options"] == "nosniff"


@each_guarded_route
async def test_it_needs_a_key(route: Route, shared_site: Site) -> None:
    """No key, a wrong one, and a revoked one are refused."""
    path = await path_of(route, shared_site.engine, OURS)
    revoked = await shared_site.key()
    await shared_site.engine.api_keys.revoke(id_of(revoked))
    for secret in (None, "hf_" + "x" * 40, "short", revoked):
        async with shared_site.client(secret) as client:
            response = await ask(client, route, path)
        assert_problem(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"


@each_guarded_route
@pytest.mark.parametrize("role", list(Role))
async def test_it_needs_its_role(route: Route, role: Role, shared_site: Site) -> None:
    """Every role may read; otherwise the role itself or admin."""
    path = await path_of(route, shared_site.engine, OURS)
    async with shared_site.client(await shared_site.key(role, tenant=None)) as client:
        response = await ask(client, route, path)
    may = Role.VIEWER in route.roles or role in {*route.roles, Role.ADMIN}
    if may:
        assert response.status_code not in {401, 403}, response.text
    else:
        assert_problem(response, 403, "forbidden")


@each_guarded_route
async def test_another_tenant_is_kept_out(route: Route, shared_site: Site) -> None:
    """What is theirs looks as if it were not there; the whole system is not theirs to change."""
    path = await path_of(route, shared_site.engine, OURS)
    async with shared_site.client(await shared_site.key(tenant=THEIRS)) as client:
        response = await ask(client, route, path)
        request = naming(route, request_of(route, path), OURS)
        named = None if request is None else await client.request(**request)
    if route.scope is Scope.SYSTEM or "tenant" in parameters(route):
        assert_problem(response, 403, "forbidden")
    elif route.owner is not None:
        code = type(route.owner.missing("")).code
        assert_problem(response, 404, code)
    elif {"id", "d"} & {*parameters(route)} and route.tag in MISSING:
        assert_problem(response, 404, MISSING[route.tag])
    else:
        assert OURS not in response.text.replace("yours", "")
    if named is not None:
        assert_problem(named, 403, "forbidden")


@pytest.mark.parametrize(
    "route",
    [route for route in guarded if route.audit is not None],
    ids=[f"{route.method} {route.path}" for route in guarded if route.audit is not None],
)
async def test_what_it_changes_is_in_the_audit_log(
    route: Route, shared_site: Site, operator: httpx.AsyncClient
) -> None:
    """With who, what, and what came of it; and no body."""
    path = await path_of(route, shared_site.engine, OURS)
    response = await ask(operator, route, path)
    key = id_of(operator.headers["authorization"].removeprefix("Bearer "))
    entries, _ = await shared_site.engine.audit.list(key=key)
    found = [one for one in entries if one.request == response.headers["x-request-id"]]
    if not found:
        assert response.is_success
        assert (route.method, route.path) in NOTHING_CHANGED
        return
    (entry,) = found
    assert (entry.method, entry.route, entry.status) == (
        route.method,
        route.path,
        response.status_code,
    )
    assert entry.key is not None
    assert entry.address == "127.0.0.1"
    if response.is_error:
        assert entry.code == response.json()["code"]


#: Calls whose example leads to no change, such as a claim that finds nothing.
NOTHING_CHANGED = {
    ("POST", "/v1/leases:renew"),
    ("PUT", "/v1/workers/{instance}"),
    ("POST", "/v1/workers/{instance}/claim"),
}


@each_route
async def test_it_refuses_what_it_does_not_know(
    route: Route, shared_site: Site, operator: httpx.AsyncClient
) -> None:
    """Unknown parameters and fields, wrong types, broken JSON, too much."""
    path = await path_of(route, shared_site.engine, OURS)
    odd = await operator.request(route.method, path, params={"no-such": "1"}, json=route.example)
    if route.raw:
        # A page reads the parameters of its address itself.
        if route.media_type == "text/html":
            assert odd.status_code == 200
        else:
            assert_problem(odd, 401, "invalid_signature")
        return
    if route.scope is not Scope.PUBLIC or odd.status_code != 200:
        assert_problem(odd, 422, "invalid_input")
    if not route.reads_body or route.accepts != JSON:
        return
    broken = await operator.request(route.method, path, content=b"{")
    assert_problem(broken, 400, "malformed")
    wrong = await operator.request(route.method, path, json=[1])
    assert_problem(wrong, 422, "invalid_input")
    huge = b'{"a":"' + b"x" * (route.most_bytes + 1) + b'"}'
    large = await operator.request(route.method, path, content=huge)
    assert_problem(large, 413, "too_large")
    assert large.json()["limit"] == route.most_bytes
    if route.body is None or hasattr(route.body, "__struct_fields__"):
        unknown = await operator.request(
            route.method, path, json={**(route.example or {}), "no-such": 1}
        )
        assert_problem(unknown, 422, "invalid_input")
        assert unknown.json()["field"].endswith("no-such")

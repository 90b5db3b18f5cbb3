"""A key of one tenant costs no round trip: the call about a thing checks whose the thing is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from holdfast.model.ids import new_id
from holdfast.server.http.declare import Route
from holdfast.server.routes import all_routes
from holdfast.store.valkey import library
from holdfast.store.valkey.wire import Command
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.samples import request_of, send, values_of

OWNED = [route for route in all_routes() if route.owner is not None and route.owner.in_store]
each_owned_route = pytest.mark.parametrize(
    "route", OWNED, ids=[f"{route.method} {route.path}" for route in OWNED]
)

#: Called when the check is done: in partitions of their own, about the children of a thing in its
#: own tenant, and for as long as somebody listens.
LATER = {"hf_budget_spent", "hf_execution_follow", "hf_execution_list", "hf_session_listen"}
_HOLDER = ["hf_lease_check", "hf_waitpoint_list"]
_GROWTH = ["hf_graph_describe", "hf_graph_members"]
#: What routes ask about the thing that their path names, where it is not one call.
_LIFE = ["hf_execution_input", "hf_execution_steps", "hf_execution_watch"]
_REHEARSAL = ["hf_session_read", "hf_session_read", "hf_session_values"]
SEVERAL = {
    "POST /v1/executions/{id}/usage": _HOLDER,
    "POST /v1/executions/{id}/usage/reserve": _HOLDER,
    "POST /v1/executions/{id}/frames": ["hf_stream_summary", "hf_stream_append_all"],
    "POST /v1/graphs/{id}/members": [*_GROWTH, "hf_graph_extend"],
    "POST /v1/graphs/{id}/edges": _GROWTH,
    "GET /v1/executions/{id}/timeline": [
        "hf_execution_describe",
        "hf_execution_history",
        "hf_execution_steps",
    ],
    "GET /v1/executions/{id}/diff": ["hf_execution_describe", *_LIFE, *_LIFE],
    "GET /v1/sessions/{id}/moment": _REHEARSAL,
    "POST /v1/sessions/{id}/rehearse": _REHEARSAL,
    "GET /v1/graphs/{id}": ["hf_graph_describe", "hf_graph_members"],
    "GET /v1/graphs/{id}/layout": ["hf_graph_describe", "hf_graph_members"],
    "GET /v1/executions/{id}/waitpoints/{wp}/token": ["hf_waitpoint_list", "hf_waitpoint_token"],
}
#: Routes that make several calls at once, or leave the refusal to the second.
SIDE_BY_SIDE = {
    "GET /v1/executions/{id}/timeline",
    "GET /v1/executions/{id}/waitpoints/{wp}/token",
    "GET /v1/graphs/{id}",
    "GET /v1/graphs/{id}/layout",
}


class Watched:
    """A server, and the functions that it calls."""

    def __init__(self, site: Site, sent: list[Command]) -> None:
        self.site = site
        self._sent = sent

    async def ask(self, route: Route, tenant: str | None) -> tuple[int, list[str]]:
        """Ask with a key about a new thing of ours; return status and calls about the thing."""
        values = await values_of(route, self.site.engine, OURS)
        async with self.site.client(await self.site.key(tenant=tenant)) as client:
            self.clear()
            response = await send(client, request_of(route, route.path.format_map(values)))
        return response.status_code, self.about(values["id"])

    def about(self, thing: str) -> list[str]:
        """Return the functions that were called about a thing."""
        return [str(command[1]) for command in self._sent if thing in command[4:]]

    def clear(self) -> None:
        """Forget what was called."""
        self._sent.clear()


@pytest.fixture
def watched(shared_site: Site, monkeypatch: pytest.MonkeyPatch) -> Watched:
    client = shared_site.engine.store.client
    sent: list[Command] = []
    call = client.call

    async def noted(command: Command) -> Any:
        sent.append(command)
        return await call(command)

    monkeypatch.setattr(client, "call", noted)
    return Watched(shared_site, sent)


@each_owned_route
async def test_a_key_of_a_tenant_makes_the_calls_of_an_operator(
    route: Route, watched: Watched
) -> None:
    """One call about the thing, or as many as the answer needs, and each one is checked."""
    status, of_operator = await watched.ask(route, None)
    same_status, ours = await watched.ask(route, OURS)
    assert same_status == status
    calls = [library.plain_name(function) for function in ours if function not in LATER]
    assert calls == SEVERAL.get(f"{route.method} {route.path}", calls[:1])
    assert calls
    assert set(calls).isdisjoint(ours)
    assert Counter(calls) <= Counter(of_operator)


@each_owned_route
async def test_a_stranger_gets_no_further_than_the_first_call(
    route: Route, watched: Watched
) -> None:
    """Nothing is asked about a thing of another tenant without the check."""
    status, calls = await watched.ask(route, THEIRS)
    assert status == 404
    assert calls
    assert {library.plain_name(function) for function in calls}.isdisjoint(calls)
    assert len(calls) == 1 or f"{route.method} {route.path}" in SIDE_BY_SIDE


@each_owned_route
async def test_a_stranger_cannot_tell_ours_from_nothing(route: Route, shared_site: Site) -> None:
    """The answers differ in the id that was asked for alone."""
    values = await values_of(route, shared_site.engine, OURS)
    # Of the same form, so that neither is an id that a tenant chose.
    nothing = f"g{new_id()}" if values["id"].startswith("g") else new_id()
    answers = []
    async with shared_site.client(await shared_site.key(tenant=THEIRS)) as client:
        for thing in (values["id"], nothing):
            path = route.path.format_map(
                {k: v.replace(values["id"], thing) for k, v in values.items()}
            )
            response = await send(client, request_of(route, path))
            answers.append((response.status_code, response.text.replace(thing, "ID")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


@pytest.mark.parametrize(
    ("route", "function"),
    [("renew", "hf_owned_lease_renew"), ("complete", "hf_owned_execution_complete_all")],
)
async def test_leases_are_checked_in_the_call_about_them(
    route: str, function: str, watched: Watched
) -> None:
    """Of things of several tenants, in one call."""
    engine = watched.site.engine
    ours, theirs = [(await engine.submit("k", tenant=tenant)).id for tenant in (OURS, THEIRS)]
    lease = {"id": "l", "epoch": 1, "attempt": 0}
    body = {"items": [{"execution": one, "lease": lease} for one in (ours, theirs, "nothing")]}
    async with watched.site.client(await watched.site.key()) as client:
        watched.clear()
        answer = await client.post(f"/v1/leases:{route}", json=body)
    assert watched.about(ours) == [function]
    codes = [(one["code"], one["detail"]) for one in answer.json()["items"]]
    assert codes == [
        (
            "stale_lease",
            f"the lease on execution {ours} expired or was superseded; it is waiting now",
        ),
        ("execution_not_found", f"no execution has the id {theirs}"),
        ("execution_not_found", "no execution has the id nothing"),
    ]


@pytest.mark.parametrize("tenant", [OURS, THEIRS])
async def test_a_call_that_the_store_never_sees_is_checked_all_the_same(
    tenant: str, watched: Watched
) -> None:
    """A malformed call tells a stranger nothing."""
    (route,) = [one for one in OWNED if one.path == "/v1/executions/{id}/complete"]
    values = await values_of(route, watched.site.engine, OURS)
    async with watched.site.client(await watched.site.key(tenant=tenant)) as client:
        answer = await client.post(route.path.format_map(values), json={"no-such": 1})
        missing = await client.post(route.path.format(id="nothing"), json={"no-such": 1})
    assert answer.status_code == (422 if tenant == OURS else 404)
    assert missing.status_code == 404


async def test_a_stream_that_is_followed_already_is_not_a_strangers_to_read(
    watched: Watched,
) -> None:
    """The process has the frames, and asks the store before it shows them."""
    site = watched.site
    execution_id = (await site.engine.submit("k", tenant=OURS)).id
    path, live = f"/v1/executions/{execution_id}/stream", {"Accept": "text/event-stream"}
    tail = await site.engine.streams.tail(execution_id)
    async with site.client(await site.key(tenant=THEIRS)) as client:
        answer = await client.get(path, headers=live)
    assert answer.status_code == 404
    assert site.engine.streams.tails.counts() == {OURS: 1}
    tail.close()

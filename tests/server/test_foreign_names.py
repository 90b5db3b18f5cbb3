"""Names inside bodies and queries: those of another tenant's things are those of nothing.

What a path names is in test_every_route.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.server.conftest import OURS, THEIRS, Site

FOREIGN = ("their-budget", "their-quota", "their-execution", "their-graph", "their-queue")
MEMBER = {"key": "m", "kind": "k"}


@dataclass(frozen=True, slots=True)
class Ours:
    """A caller of one tenant with something of its own."""

    client: httpx.AsyncClient
    lease: dict[str, Any]
    handle: str

    def calls(self, name: str) -> list[tuple[str, str, Any]]:
        """Return all calls that could reach a thing by its name, but for those by their path."""
        item, held = {"kind": "k"}, {"lease": self.lease}
        plan = {"id": "s", "every_ms": 1_000}
        commit = [{"queue": name, "message": {"payload": 1}}]
        return [
            ("POST", "budgets", {"limits": {}, "parent": name}),
            ("POST", "executions", {**item, "budgets": [name]}),
            ("POST", "executions", {**item, "quotas": [name]}),
            ("POST", "executions:batch", {"items": [{**item, "quotas": [name]}]}),
            ("POST", "executions:batch", {"items": [{**item, "budgets": [name]}]}),
            ("POST", "graphs", {"members": [{**MEMBER, "budgets": [name]}]}),
            ("POST", "graphs", {"members": [MEMBER], "budgets": [name]}),
            ("POST", "graphs", {"members": [MEMBER], "edges": [{"from": name, "to": "m"}]}),
            ("POST", "schedules", {**plan, "execution": {**item, "quotas": [name]}}),
            ("POST", "queues/q/commit", {"handle": self.handle, "effects": commit}),
            ("POST", "queues/q/move", {"to": name, "limit": 1}),
            ("POST", "queues/q/redrive", {"to": name}),
            ("POST", "queues/q/redrive", {"filter": {"origin": name}}),
            ("POST", "leases:renew", {"items": [{"execution": name, **held}]}),
            ("POST", "leases:complete", {"items": [{"execution": name, **held}]}),
            ("POST", "executions/x/usage", {**held, "usage": {"t": 1}, "budget": name}),
            ("POST", "executions/x/suspend", {**held, "waitpoints": [{"id": f"{name}~w1"}]}),
            ("GET", f"executions?graph={name}", None),
            ("GET", f"executions?tenant=*&tag=name:{name}", None),
            ("GET", f"queues?cursor={name}", None),
        ]


@pytest.fixture
async def ours(site: Site) -> AsyncIterator[Ours]:
    """A caller of one tenant, while another tenant has things with names."""
    async with (
        site.client(await site.key(tenant=OURS)) as client,
        site.client(await site.key(tenant=THEIRS)) as theirs,
    ):
        budget, quota, execution, graph, queue = FOREIGN
        tagged = {"kind": "k", "tags": {"name": execution}}
        for method, path, body in (
            ("POST", "budgets", {"id": budget, "limits": {}}),
            ("POST", "quotas", {"id": quota, "max_concurrent": 1}),
            ("POST", "executions", {"id": execution, **tagged}),
            ("POST", "graphs", {"id": graph, "members": [MEMBER]}),
            ("PUT", f"queues/{queue}", {"mode": "work"}),
        ):
            made = await theirs.request(method, f"/v1/{path}", json=body)
            assert made.status_code == 201, made.text
        await client.post("/v1/executions", json={"id": "x", "kind": "k"})
        claimed = await client.post("/v1/workers/w/claim", json={"lanes": ["default"]})
        await client.put("/v1/queues/q", json={"mode": "work"})
        await client.post("/v1/queues/q/messages", json={"items": [{"payload": 1}]})
        read = await client.post("/v1/queues/q/read", json={"consumer": "c"})
        (claim,), (delivery,) = claimed.json()["claims"], read.json()["deliveries"]
        yield Ours(client, claim["lease"], delivery["handle"])


@pytest.mark.parametrize("foreign", FOREIGN)
async def test_a_name_of_another_tenant_is_that_of_nothing(ours: Ours, foreign: str) -> None:
    """No status, no code and no word tells them apart."""

    async def answer(method: str, path: str, body: Any) -> tuple[int, str]:
        response = await ours.client.request(method, f"/v1/{path}", json=body)
        return response.status_code, response.text.replace(foreign, "their-nothing")

    calls = zip(ours.calls(foreign), ours.calls("their-nothing"), strict=True)
    for call, same in calls:
        assert await answer(*call) == await answer(*same)

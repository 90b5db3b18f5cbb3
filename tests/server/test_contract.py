"""What the contract promises of executions and workers, beyond what holds for every route."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from holdfast.testing.clock import Clock
from tests.server.conftest import Site

JSON = {"Content-Type": "application/json"}


async def submit(client: httpx.AsyncClient, **fields: Any) -> str:
    response = await client.post("/v1/executions", json={"kind": "k", **fields})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


async def claim(client: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    response = await client.post("/v1/workers/w1/claim", json={"lanes": ["default"], **fields})
    (one,) = response.json()["claims"]
    return dict(one)


def code_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


async def test_a_claim_gets_the_kinds_that_it_names(anyone: httpx.AsyncClient) -> None:
    """Absent means every kind, none means none; each is checked."""
    first, second = [await submit(anyone, kind=kind) for kind in ("a", "b/c")]
    where = "/v1/workers/w1/claim"
    none = await anyone.post(where, json={"lanes": ["default"], "max": 9, "kinds": []})
    other = await anyone.post(where, json={"lanes": ["default"], "max": 9, "kinds": ["b"]})
    assert none.json() == other.json() == {"claims": []}
    assert (await claim(anyone, max=9, kinds=["b/c", "x"]))["execution"]["id"] == second
    assert (await claim(anyone, max=9))["execution"]["id"] == first
    for kinds in ("a", ["no spaces"], [5], [f"k{n}" for n in range(10_001)]):
        refused = await anyone.post(where, json={"lanes": ["default"], "kinds": kinds})
        assert code_of(refused) == (422, "invalid_input")


async def test_a_task_that_no_worker_has_is_explained(anyone: httpx.AsyncClient) -> None:
    """In words, and for machines."""
    body = {"worker": "w", "lanes": ["default"], "kinds": ["order.place"]}
    await anyone.put("/v1/workers/w1", json=body)
    await anyone.put("/v1/workers/w2", json={**body, "lanes": ["other"], "kinds": None})
    listed = (await anyone.get("/v1/workers")).json()["items"]
    assert [one["kinds"] for one in listed] == [["order.place"], None]
    execution_id = await submit(anyone, kind="order.plac")
    told = (await anyone.get(f"/v1/executions/{execution_id}/explain")).json()
    assert told["why"] == (
        "It waits for a worker: no live worker has the task `order.plac`; "
        "did you mean `order.place`?"
    )
    (hold,) = told["holds"]
    expected = {"type": "no_worker", "kind": "order.plac", "suggestions": ["order.place"]}
    assert expected.items() <= hold.items()
    assert hold["lane"] == "default"


async def test_a_submission_can_be_repeated(site: Site, anyone: httpx.AsyncClient) -> None:
    """By id and by key; other content is a conflict."""
    for name, conflict in (("id", "id_conflict"), ("idempotency_key", "idempotency_conflict")):
        body = {"kind": "k", name: f"n-{name}", "input": {"n": 1}}
        first = await anyone.post("/v1/executions", json=body)
        again = await anyone.post("/v1/executions", json=body)
        other = await anyone.post("/v1/executions", json={**body, "input": {"n": 2}})
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == {**first.json(), "duplicate": True}
        assert code_of(other) == (409, conflict)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"priority": "1"}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": 1001}, "priority"),
        ({"kind": "no spaces"}, "kind"),
        ({"lane": ""}, "lane"),
        ({"delay_ms": -1}, "delay_ms"),
        ({"delay_ms": 1, "run_at": "2030-01-01T00:00:00Z"}, "run_at"),
        ({"run_at": "tomorrow"}, "run_at"),
        ({"run_at": "2030-01-01T00:00:00"}, "run_at"),
        ({"retry": {"max_attempts": 0}}, "retry.max_attempts"),
        ({"retry": {"max_attempts": 1, "backoff": {"kind": "odd", "initial_ms": 1}}}, "retry"),
        ({"tags": {f"t{n}": "v" for n in range(65)}}, "tags"),
        ({"requires": ["a b"]}, "requires"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
async def test_wrong_fields_are_refused_by_name(
    anyone: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    """Nothing is coerced or clamped."""
    response = await anyone.post("/v1/executions", json={"kind": "k", **fields})
    assert code_of(response) == (422, "invalid_input")
    assert response.json()["field"].startswith(field), response.json()


async def test_payloads_are_kept_as_they_were_written(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """Every digit of a number; empty arrays; bytes that are no JSON."""
    exact = b'{"n":1.10,"big":123456789012345678901234567890,"empty":[],"e":1e400}'
    await anyone.post("/v1/executions", content=b'{"kind":"k","id":"x1","input":' + exact + b"}")
    assert (await anyone.get("/v1/executions/x1/input")).content == exact
    one = await claim(anyone)
    body = b'{"lease":' + httpx.Response(200, json=one["lease"]).content + b',"result":' + exact
    await anyone.post("/v1/executions/x1/complete", content=body + b"}")
    result = await anyone.get("/v1/executions/x1/result")
    assert (result.content, result.headers["content-type"]) == (exact, "application/json")
    raw = base64.b64encode(b"\xff\x00").decode()
    await anyone.post("/v1/executions", json={"kind": "k", "id": "x2", "input_base64": raw})
    one = await claim(anyone)
    assert (one["input"], one["input_base64"]) == (None, raw)
    await anyone.post(
        "/v1/executions/x2/complete",
        json={"lease": one["lease"], "result_base64": raw, "content_type": "image/x-dot"},
    )
    result = await anyone.get("/v1/executions/x2/result")
    assert (result.content, result.headers["content-type"]) == (b"\xff\x00", "image/x-dot")
    assert "sandbox" in result.headers["content-security-policy"]


async def test_a_payload_over_its_limit_is_413(anyone: httpx.AsyncClient) -> None:
    """With the limit."""
    response = await anyone.post("/v1/executions", json={"kind": "k", "input": "x" * (1 << 20)})
    assert code_of(response) == (413, "too_large")
    assert response.json()["limit"] == 1 << 20


async def test_a_result_is_404_until_there_is_one(site: Site, anyone: httpx.AsyncClient) -> None:
    """Null is a result; one that failed says how it ended, also to who waits."""
    one = await submit(anyone)
    assert code_of(await anyone.get(f"/v1/executions/{one}/result")) == (404, "result_not_ready")
    held = await claim(anyone)
    await anyone.post(f"/v1/executions/{one}/complete", json={"lease": held["lease"]})
    assert (await anyone.get(f"/v1/executions/{one}/result")).content == b"null"
    other = await submit(anyone)
    await site.engine.cancel(other, "no need")
    ended = await anyone.get(f"/v1/executions/{other}/result", params={"wait_ms": 60_000})
    assert code_of(ended) == (404, "result_not_ready")
    assert (ended.json()["state"], ended.json()["reason"]) == ("cancelled", "no need")


async def test_a_batch_answers_for_each_item(site: Site, anyone: httpx.AsyncClient) -> None:
    """In order; what is wrong with one does not concern the others."""
    await site.engine.lanes.drain("closed")
    items = [
        {"kind": "k", "id": "b1"},
        {"kind": "k", "lane": "closed"},
        {"id": "no-kind"},
        {"kind": "k", "priority": 5000},
        {"kind": "k", "id": "b1"},
    ]
    response = await anyone.post("/v1/executions:batch", json={"items": items})
    found = [item.get("code") or item.get("duplicate", False) for item in response.json()["items"]]
    assert response.status_code == 200
    assert found == [False, "lane_draining", "invalid_input", "invalid_input", True]
    many = await anyone.post("/v1/executions:batch", json={"items": [{"kind": "k"}] * 1001})
    assert many.status_code == 422


async def test_lists_are_filtered_and_paged(anyone: httpx.AsyncClient) -> None:
    """Newest first, by every filter, with a cursor."""
    for n in range(5):
        await submit(anyone, id=f"l{n}", tags={"n": str(n % 2)}, lane="a" if n < 4 else "b")

    async def ids(**params: str) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            given = {**params, **({"cursor": cursor} if cursor else {})}
            page = (await anyone.get("/v1/executions", params=given)).json()
            found += [item["id"] for item in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return found

    assert await ids(limit="2") == ["l4", "l3", "l2", "l1", "l0"]
    assert await ids(tag="n:1") == ["l3", "l1"]
    assert await ids(lane="b", state="waiting", kind="k") == ["l4"]
    assert await ids(until="2000-01-01T00:00:00Z") == []
    for params in (
        {"limit": "0"},
        {"limit": "1001"},
        {"cursor": "x"},
        {"tag": "x"},
        {"state": "x"},
    ):
        assert (await anyone.get("/v1/executions", params=params)).status_code == 422


async def test_a_lost_lease_is_a_conflict(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """Stale, revoked or over; the call that ended an attempt gets its first answer again."""
    one = await submit(anyone)
    held = (await claim(anyone, lease_ms=1_000))["lease"]
    await clock.advance_and_tick(1_000)
    late = await anyone.post(f"/v1/executions/{one}/complete", json={"lease": held})
    assert code_of(late) == (409, "stale_lease")
    held = (await claim(anyone))["lease"]
    await anyone.post(f"/v1/executions/{one}/revoke-lease", json={})
    taken = await anyone.post(f"/v1/executions/{one}/progress", json={"lease": held, "pct": 1})
    assert code_of(taken) == (409, "lease_revoked")
    held = (await claim(anyone))["lease"]
    for _ in range(2):
        done = await anyone.post(
            f"/v1/executions/{one}/complete", json={"lease": held, "result": 1}
        )
        assert (done.status_code, done.json()) == (200, {"state": "completed"})
    over = await anyone.post(
        f"/v1/executions/{one}/steps", json={"lease": held, "name": "s", "result": 1}
    )
    assert code_of(over) == (409, "not_active")
    assert over.json()["state"] == "completed"


async def test_renewal_answers_for_each_lease(anyone: httpx.AsyncClient) -> None:
    """The new expiry, or why not."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    items = [
        {"execution": one, "lease": held},
        {"execution": one, "lease": {**held, "epoch": 9}},
        {"execution": "nothing", "lease": held},
    ]
    response = await anyone.post("/v1/leases:renew", json={"items": items, "lease_ms": 60_000})
    good, stale, missing = response.json()["items"]
    assert good["ok"] is True
    assert good["expires_at"] > held["expires_at"]
    assert (stale["ok"], stale["code"], stale["state"]) == (False, "stale_lease", "active")
    assert (missing["ok"], missing["code"]) == (False, "execution_not_found")


async def test_a_claim_whose_answer_was_lost_can_be_asked_for_again(
    anyone: httpx.AsyncClient,
) -> None:
    """The same leases; with a most of 0 nothing new."""
    for _ in range(3):
        await submit(anyone)
    first = await claim(anyone, request="r1")
    again = await claim(anyone, request="r1", again=True)
    assert again["lease"]["id"] == first["lease"]["id"] == "r1"
    assert again["execution"] == first["execution"]
    nothing = await anyone.post(
        "/v1/workers/w1/claim",
        json={"lanes": ["default"], "request": "r2", "again": True, "max": 0},
    )
    assert nothing.json() == {"claims": []}


async def test_ids_may_contain_anything_that_ids_may_contain(anyone: httpx.AsyncClient) -> None:
    """Slashes are sent as %2F."""
    name = "a/b~c:d@e"
    await submit(anyone, id=name)
    for path in ("", "/history", "/explain"):
        response = await anyone.get(f"/v1/executions/a%2Fb~c:d@e{path}")
        assert response.status_code == 200, path
    assert (await anyone.get("/v1/executions/a%2Fb~c:d@e")).json()["id"] == name
    assert (await anyone.get("/v1/executions/%00")).status_code == 400
    assert (await anyone.get("/v1/executions/%ff")).status_code == 400


async def test_an_execution_is_operated(site: Site, anyone: httpx.AsyncClient) -> None:
    """Cancel, replay, priority, and their refusals."""
    one = await submit(anyone)
    path = f"/v1/executions/{one}"
    changed = await anyone.put(f"{path}/priority", json={"priority": 7})
    assert changed.json() == {"priority": 7, "previous": 0}
    assert code_of(await anyone.post(f"{path}/replay", json={})) == (409, "not_terminal")
    assert code_of(await anyone.post(f"{path}/revoke-lease", json={})) == (409, "not_active")
    assert (await anyone.post(f"{path}/cancel", json={"reason": "r"})).json() == {
        "state": "cancelled"
    }
    assert code_of(await anyone.post(f"{path}/cancel", json={})) == (409, "already_terminal")
    missing = await anyone.post(f"{path}/replay", json={"from_step": "s"})
    assert code_of(missing) == (404, "step_not_found")
    assert (await anyone.post(f"{path}/replay", json={})).json() == {"state": "waiting"}
    events = (await anyone.get(f"{path}/history")).json()["items"]
    assert [event["event"] for event in events] == [
        "created",
        "prioritized",
        "cancelled",
        "replayed",
    ]


async def test_times_are_in_utc_with_milliseconds(anyone: httpx.AsyncClient) -> None:
    """As RFC 3339 has them."""
    one = await submit(anyone, deadline_ms=1_500)
    seen = (await anyone.get(f"/v1/executions/{one}")).json()
    assert seen["created_at"] == "2026-01-01T00:00:00.000Z"
    assert seen["deadline_at"] == "2026-01-01T00:00:01.500Z"


async def test_the_audit_log_is_read_in_pages(
    site: Site, operator: httpx.AsyncClient, clock: Clock
) -> None:
    """By tenant and key; a tenant's admin sees its own."""
    ours = await site.key(tenant="ours")
    async with site.client(ours) as client:
        for _ in range(3):
            await client.post("/v1/executions", json={"kind": "k"})
        await clock.advance(1)
        await client.post("/v1/executions/nothing/cancel", json={})
        page = (await client.get("/v1/audit", params={"limit": "2"})).json()
        rest = (await client.get("/v1/audit", params={"cursor": page["next_cursor"]})).json()
    items = page["items"] + rest["items"]
    assert [(one["route"], one["status"], one["code"]) for one in items] == [
        ("/v1/executions/{id}/cancel", 404, "execution_not_found"),
        *[("/v1/executions", 201, None)] * 3,
    ]
    assert {one["tenant"] for one in items} == {"ours"}
    assert items[0]["target"] == {"id": "nothing"}
    await operator.post("/v1/executions", json={"kind": "k", "tenant": "other"})
    everything = (await operator.get("/v1/audit")).json()["items"]
    assert {one["tenant"] for one in everything} == {"ours", "other"}
    narrowed = (await operator.get("/v1/audit", params={"tenant": "other"})).json()["items"]
    assert len(narrowed) == 1


@pytest.mark.parametrize("path", ["/healthz", "/v1/executions", "/v1/events"])
async def test_head_is_get_without_a_body(anyone: httpx.AsyncClient, path: str) -> None:
    """Monitors ask so; a live stream ends at once."""
    response = await anyone.head(path)
    assert (response.status_code, response.content) == (200, b"")
    assert (await anyone.head("/v1/executions:batch")).status_code == 405


async def test_the_root_leads_to_the_docs(anyone: httpx.AsyncClient) -> None:
    """For people with a browser."""
    response = await anyone.get("/")
    assert (response.status_code, response.headers["location"]) == (307, "/docs")


async def test_an_offer_of_another_protocol_is_passed_over(anyone: httpx.AsyncClient) -> None:
    """Java offers HTTP/2 with its first call, and the body of that call counts."""
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEA"}
    body = {"kind": "k", "input": "\r\nUpgrade: x\r\n\r\n"}
    for _ in range(2):
        made = await anyone.post("/v1/executions", json=body, headers=offer)
        assert made.status_code == 201, made.text
    kept = await anyone.get(f"/v1/executions/{made.json()['id']}/input")
    assert kept.json() == body["input"]

"""Waitpoints and signals over HTTP: the worker's side, the answerer's side, the operator's."""

from __future__ import annotations

from typing import Any

import httpx

from holdfast import Client
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, THEIRS, Site
from tests.server.test_contract import claim, code_of, submit

SECRET_HEX = "00112233445566778899aabbccddeeff"  # noqa: S105 - of the test


async def prepared(client: httpx.AsyncClient, **fields: Any) -> tuple[str, Any, Any]:
    """Claim a new execution and prepare a waitpoint; returns execution, lease, waitpoint."""
    one = await submit(client)
    held = (await claim(client))["lease"]
    response = await client.post(
        f"/v1/executions/{one}/waitpoints",
        json={"lease": held, "waitpoints": [{"name": "mail", **fields}]},
    )
    assert response.status_code == 200, response.text
    (point,) = response.json()["items"]
    return one, held, point


async def suspend(client: httpx.AsyncClient, one: str, held: Any, **fields: Any) -> Any:
    body = {
        "lease": held,
        "waitpoints": [{"name": "ok"}],
        "condition": {"waitpoint": "ok"},
        **fields,
    }
    response = await client.post(f"/v1/executions/{one}/suspend", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def signal(client: httpx.AsyncClient, point: Any, **fields: Any) -> httpx.Response:
    body = {"token": point["token"], "name": "approve", **fields}
    return await client.post(f"/v1/signals/{point['id']}", json=body)


async def test_whoever_has_the_token_reads_what_is_asked_for(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """The same over HTTP, in the client and near the store; and nothing of another waitpoint."""
    _, _, point = await prepared(anyone, title="How much?", schema={"type": "integer"})
    token, _ = point.pop("token"), point.pop("tokens")
    response = await anyone.post(f"/v1/signals/{point['id']}/read", json={"token": token})
    assert (response.status_code, response.json()) == (200, {**point, "person": ""})
    async with Client(site.url) as client:
        far = await client.waitpoints.read(point["id"], token)
    assert far == await site.engine.waitpoints.read(point["id"], token)
    assert (far.title, far.token) == ("How much?", None)
    _, _, other = await prepared(anyone)
    for waitpoint in (other["id"], "x1~w1", "nonsense"):
        refused = await anyone.post(f"/v1/signals/{waitpoint}/read", json={"token": token})
        assert (refused.status_code, refused.json()["code"]) == (401, "invalid_token")


async def test_a_worker_waits_and_gets_its_signals(anyone: httpx.AsyncClient) -> None:
    """Suspended without a lease; the next claim has what came, in the same attempt."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    condition = {"count": 2, "distinct": "sources", "of": [{"waitpoint": "ok"}]}
    waits = await suspend(anyone, one, held, condition=condition, key="k1")
    assert waits["state"] == "suspended"
    assert "signals" not in waits
    (point,) = waits["waitpoints"]
    assert await suspend(anyone, one, held, condition=condition, key="k1") == waits
    ann, ben = ({"type": "user", "identity": name} for name in ("ann", "ben"))
    first = await signal(anyone, point, source=ann, payload={"n": 1.10}, idempotency_key="a")
    assert (first.status_code, first.json()) == (200, {"effect": "appended"})
    again = await signal(anyone, point, source=ann, payload={"n": 1.10}, idempotency_key="a")
    assert again.json() == {"effect": "duplicate"}
    assert (await signal(anyone, point, source=ben)).json() == {"effect": "resumed"}
    assert code_of(await signal(anyone, point, source=ben)) == (409, "waitpoint_closed")
    back = await claim(anyone)
    assert back["attempt"] == {"index": 0, "kind": "initial"}
    assert back["resumed"] == "k1"
    assert [(s["name"], s["payload"], s["source"]) for s in back["signals"]] == [
        ("approve", {"n": 1.1}, ann),
        ("approve", None, ben),
    ]
    history = (await anyone.get(f"/v1/executions/{one}/signals")).json()["items"]
    assert [s["effect"] for s in history] == ["appended", "resumed"]


async def test_a_wait_that_is_fulfilled_already_keeps_the_lease(
    anyone: httpx.AsyncClient,
) -> None:
    """A signal to a prepared waitpoint is held until the wait names it."""
    one, held, point = await prepared(anyone)
    assert (await signal(anyone, point, payload=7)).json() == {"effect": "buffered"}
    condition = {"waitpoint": "mail"}
    went = await suspend(anyone, one, held, waitpoints=[{"id": point["id"]}], condition=condition)
    assert went["state"] == "active"
    assert [s["payload"] for s in went["signals"]] == [7]
    done = await anyone.post(f"/v1/executions/{one}/complete", json={"lease": held})
    assert done.status_code == 200


async def test_strangers_learn_nothing(anyone: httpx.AsyncClient) -> None:
    """An unknown waitpoint, a wrong token and another's token get the same answer."""
    _, _, point = await prepared(anyone)
    _, _, other = await prepared(anyone)
    forged = point["token"][:-4] + "AAAA"
    answers = [
        await signal(anyone, {"id": where, "token": token})
        for where, token in (
            ("nothing", point["token"]),
            ("nothing~w1", point["token"]),
            (point["id"], forged),
            (point["id"], ""),
            (point["id"], other["token"]),
        )
    ]
    assert {code_of(answer) for answer in answers} == {(401, "invalid_token")}
    assert len({answer.json()["detail"] for answer in answers}) == 1


async def test_a_token_is_good_for_what_it_says(anyone: httpx.AsyncClient) -> None:
    """Names, uses and the schema of its waitpoint."""
    schema = {"type": "object", "required": ["n"]}
    one, _, point = await prepared(anyone, signals=["yes"], uses=1, schema=schema)
    assert code_of(await signal(anyone, point)) == (403, "signal_not_allowed")
    refused = await signal(anyone, point, name="yes", payload={})
    assert code_of(refused) == (422, "invalid_payload")
    large = await signal(anyone, point, name="yes", payload={"n": "x" * (64 << 10)})
    assert code_of(large) == (413, "too_large")
    assert (await signal(anyone, point, name="yes", payload={"n": 1})).status_code == 200
    spent = await signal(anyone, point, name="yes", payload={"n": 1})
    assert code_of(spent) == (409, "token_used_up")
    listed = (await anyone.get(f"/v1/executions/{one}/waitpoints")).json()["items"]
    assert [(w["name"], w["used"], w["schema"]) for w in listed] == [("mail", 1, schema)]
    assert "token" not in listed[0]


async def test_a_batch_answers_for_each(anyone: httpx.AsyncClient) -> None:
    """One that is refused does not refuse the others."""
    _, _, point = await prepared(anyone)
    item = {"waitpoint": point["id"], "token": point["token"], "name": "approve"}
    response = await anyone.post(
        "/v1/signals:batch", json={"items": [item, {**item, "waitpoint": "x"}, item]}
    )
    good, bad, more = response.json()["items"]
    assert (good, more) == ({"effect": "buffered"}, {"effect": "buffered"})
    assert bad["code"] == "invalid_token"


async def test_reading_a_token_is_on_record(site: Site, operator: httpx.AsyncClient) -> None:
    """Who read it is in the history and the audit log; a signal is, too."""
    one, _, point = await prepared(operator)
    path = f"/v1/executions/{one}/waitpoints/{point['id']}/token"
    response = await operator.get(path)
    assert response.headers["cache-control"] == "no-store"
    assert response.json()["token"] == point["token"]
    wrong = await operator.get(f"/v1/executions/{one}/waitpoints/other~w1/token")
    assert code_of(wrong) == (404, "waitpoint_not_found")
    history = (await operator.get(f"/v1/executions/{one}/history")).json()["items"]
    (read,) = [event for event in history if event["event"] == "token_read"]
    async with site.client() as stranger:
        assert (await signal(stranger, point)).json() == {"effect": "buffered"}
    audit = (await operator.get("/v1/audit")).json()["items"]
    by_route = {entry["route"]: entry for entry in audit}
    assert by_route["/v1/executions/{id}/waitpoints/{wp}/token"]["key"] == read["reader"]
    sent = by_route["/v1/signals/{waitpoint}"]
    assert (sent["key"], sent["target"]) == ("token", {"waitpoint": point["id"]})
    assert point["token"] not in str(audit) + str(history)


async def test_an_operator_ends_a_wait(anyone: httpx.AsyncClient) -> None:
    """Revokes a waitpoint, or lets the execution go on."""
    one = await submit(anyone)
    assert code_of(await anyone.post(f"/v1/executions/{one}/resume", json={})) == (
        409,
        "not_suspended",
    )
    held = (await claim(anyone))["lease"]
    (point,) = (await suspend(anyone, one, held))["waitpoints"]
    (item,) = (await anyone.get("/v1/waitpoints")).json()["items"]
    assert (item["id"], item["execution"], item["kind"]) == (point["id"], one, "k")
    revoked = await anyone.post(f"/v1/executions/{one}/waitpoints/{point['id']}/revoke")
    assert revoked.json() == {"id": point["id"], "state": "closed", "why": "revoked"}
    assert code_of(await signal(anyone, point)) == (409, "waitpoint_closed")
    resumed = await anyone.post(f"/v1/executions/{one}/resume", json={"payload": "go"})
    assert resumed.json() == {"state": "waiting"}
    (came,) = (await claim(anyone))["signals"]
    assert (came["name"], came["payload"], came["waitpoint"]) == ("resume", "go", None)


async def test_an_inbox_is_that_of_its_tenant(site: Site) -> None:
    """In pages; nobody else's is seen."""
    async with site.client(await site.key(tenant=OURS)) as ours:
        points = [(await prepared(ours))[2]["id"] for _ in range(3)]
        page = (await ours.get("/v1/waitpoints", params={"limit": "2"})).json()
        rest = (await ours.get("/v1/waitpoints", params={"cursor": page["next_cursor"]})).json()
    assert [item["id"] for item in page["items"] + rest["items"]] == points
    async with site.client(await site.key(tenant=THEIRS)) as theirs:
        assert (await theirs.get("/v1/waitpoints")).json()["items"] == []


async def test_signing_keys_are_rotated(anyone: httpx.AsyncClient, clock: Clock) -> None:
    """Old tokens stay good for the grace; a repetition changes nothing; no secret is shown."""
    _, _, point = await prepared(anyone)
    before = (await anyone.get("/v1/admin/keyring")).json()["current"]
    body = {"kid": "k2", "secret_hex": SECRET_HEX, "grace_ms": 60_000}
    for _ in range(2):
        rotated = await anyone.post("/v1/admin/keyring/rotate", json=body)
        assert rotated.json() == {"kid": "k2", "previous": before}
    other = {**body, "secret_hex": SECRET_HEX[::-1]}
    conflict = await anyone.post("/v1/admin/keyring/rotate", json=other)
    assert code_of(conflict) == (409, "rotation_conflict")
    bad = await anyone.post("/v1/admin/keyring/rotate", json={"kid": "k3", "secret_hex": "dead"})
    assert code_of(bad) == (422, "invalid_input")
    assert "dead" not in bad.text
    ring = await anyone.get("/v1/admin/keyring")
    assert {key["kid"] for key in ring.json()["keys"]} == {before, "k2"}
    assert SECRET_HEX not in ring.text
    assert (await signal(anyone, point)).status_code == 200
    await clock.advance(60_001)
    assert code_of(await signal(anyone, point)) == (401, "token_expired")


async def test_a_wait_needs_a_condition(anyone: httpx.AsyncClient) -> None:
    """Without one any signal would end it: the execution stays active."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    body = {"lease": held, "waitpoints": [{"name": "ok"}]}
    wrong: list[dict[str, Any]] = [{}, {"condition": None}, {"condition": {}}]
    for fields in wrong:
        refused = await anyone.post(f"/v1/executions/{one}/suspend", json={**body, **fields})
        assert refused.status_code == 422
    assert (await anyone.get(f"/v1/executions/{one}")).json()["state"] == "active"


async def test_half_a_source_is_refused(anyone: httpx.AsyncClient) -> None:
    """Type and identity tell sources apart together."""
    _, _, point = await prepared(anyone)
    for half in ({"type": "user"}, {"identity": "ann"}, {"type": "user", "identity": ""}):
        refused = await signal(anyone, point, source=half)
        assert code_of(refused) == (422, "invalid_input")
        assert refused.json()["field"] == "source"
    for source in ({}, {"type": "user", "identity": "ann"}):
        assert (await signal(anyone, point, source=source)).status_code == 200


async def test_a_lease_has_no_unknown_fields(anyone: httpx.AsyncClient) -> None:
    """What the claim gave is taken as it is, and nothing else."""
    one = await submit(anyone)
    held = (await claim(anyone))["lease"]
    assert "expires_at" in held
    body = {"lease": {**held, "epcoh": 1}}
    refused = await anyone.post(f"/v1/executions/{one}/complete", json=body)
    assert code_of(refused) == (422, "invalid_input")
    done = await anyone.post(f"/v1/executions/{one}/complete", json={"lease": held})
    assert done.status_code == 200


async def test_an_operator_cannot_answer_as_an_approver(site: Site) -> None:
    """Workers send the tokens of people; a key that may only operate cannot read them."""
    async with site.client(await site.key("worker", "submitter")) as worker:
        one, _, point = await prepared(worker, answerers=["ann", "ben"], personal=True)
        assert (point["token"], sorted(point["tokens"])) == ("", ["ann", "ben"])
        where = f"/v1/executions/{one}/waitpoints/{point['id']}/token"
        again = await worker.get(where, params={"person": "ann"})
        assert again.json()["token"] == point["tokens"]["ann"]
        for person in ("", "dan"):
            response = await worker.get(where, params={"person": person})
            assert code_of(response) == (403, "signal_not_allowed")
    async with site.client(await site.key("operator")) as operator:
        response = await operator.get(where, params={"person": "ann"})
        assert code_of(response) == (403, "forbidden")
        assert code_of(await operator.get(where)) == (403, "signal_not_allowed")
        body = {"token": point["tokens"]["ann"]}
        read = await operator.post(f"/v1/signals/{point['id']}/read", json=body)
        assert (read.json()["person"], read.json()["personal"]) == ("ann", True)
        swapped = {**body, "name": "approve", "source": {"type": "user", "identity": "ben"}}
        response = await operator.post(f"/v1/signals/{point['id']}", json=swapped)
        assert code_of(response) == (403, "signal_not_allowed")

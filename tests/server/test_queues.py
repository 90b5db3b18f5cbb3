"""Message queues over HTTP, as the contract has them."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from tests.server.conftest import OURS, THEIRS, Site


async def define(client: httpx.AsyncClient, name: str = "mail", **settings: object) -> None:
    response = await client.put(f"/v1/queues/{name}", json={"mode": "work", **settings})
    assert response.status_code in {200, 201}, response.text


async def push(client: httpx.AsyncClient, *payloads: object, name: str = "mail") -> list[str]:
    body = {"items": [{"payload": one} for one in payloads]}
    response = await client.post(f"/v1/queues/{name}/messages", json=body)
    assert response.status_code == 200, response.text
    return [item["id"] for item in response.json()["items"]]


async def read(
    client: httpx.AsyncClient, name: str = "mail", **fields: object
) -> list[dict[str, Any]]:
    response = await client.post(f"/v1/queues/{name}/read", json={"consumer": "c", **fields})
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["deliveries"]
    return found


async def settle(
    client: httpx.AsyncClient, verb: str, *handles: str, **fields: object
) -> list[dict[str, Any]]:
    body = {"items": [{"handle": handle, **fields} for handle in handles]}
    response = await client.post(f"/v1/queues/mail/{verb}", json=body)
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["items"]
    return found


async def test_a_message_goes_through_its_life(anyone: httpx.AsyncClient) -> None:
    """Defined, pushed, read, acknowledged; a repetition is told, a foreign handle refused."""
    assert (await anyone.put("/v1/queues/mail", json={})).status_code == 422
    created = await anyone.put("/v1/queues/mail", json={"mode": "work", "lock_ms": 5000})
    assert (created.status_code, created.json()["lock_ms"]) == (201, 5000)
    again = await anyone.put("/v1/queues/mail", json={"mode": "work", "retry_delay_ms": 7})
    assert (again.status_code, again.json()["backoff"]) == (200, [7])
    body = {"items": [{"payload": {"n": 1.50}, "id": "m1", "key": "k"}, {"payload_base64": "/w=="}]}
    pushed = (await anyone.post("/v1/queues/mail/messages", json=body)).json()["items"]
    assert pushed[0] == {"ok": True, "id": "m1", "duplicate": False}
    repeated = (await anyone.post("/v1/queues/mail/messages", json=body)).json()["items"]
    assert repeated[0] == {"ok": True, "id": "m1", "duplicate": True}
    other = {"items": [{"payload": 2, "id": "m1"}]}
    refused = (await anyone.post("/v1/queues/mail/messages", json=other)).json()["items"][0]
    assert (refused["ok"], refused["code"]) == (False, "dedup_conflict")

    first, second = await read(anyone, count=2)
    message = first["message"]
    assert (message["id"], message["payload"], message["key"], message["attempt"]) == (
        *("m1", {"n": 1.5}, "k"),
        1,
    )
    assert second["message"]["payload_base64"] == "/w=="
    (pending, _) = (await anyone.get("/v1/queues/mail/pending")).json()["items"]
    assert pending["consumer"] == "c"
    assert await settle(anyone, "extend", first["handle"]) != []
    assert await settle(anyone, "ack", first["handle"]) == [{"ok": True}]
    assert await settle(anyone, "ack", first["handle"]) == [{"ok": True, "repeated": True}]
    (stale, unknown) = await settle(anyone, "nack", first["handle"], "nonsense")
    assert (stale["ok"], stale["code"]) == (False, "stale_delivery")
    assert (unknown["ok"], unknown["code"]) == (False, "unknown_delivery")


async def test_counts_add_up(anyone: httpx.AsyncClient) -> None:
    """Pushed is the sum of the rest, and nothing else is told."""
    await define(anyone, max_attempts=1)
    await push(anyone, 1, 2, 3, 4)
    one, two = await read(anyone, count=2)
    await settle(anyone, "ack", one["handle"])
    await settle(anyone, "reject", two["handle"], reason="no")
    stats = (await anyone.get("/v1/queues/mail/stats")).json()
    assert stats.pop("pushed") == sum(stats.values()) == 4
    assert (stats["acked"], stats["dropped"], stats["ready"]) == (1, 1, 2)
    assert set(stats) == {
        *("ready", "delayed", "in_flight", "acked", "dead", "dropped", "expired", "purged")
    }
    assert (await anyone.post("/v1/queues/mail/purge")).json() == {"purged": 2}


async def test_groups_of_a_fanout_queue(anyone: httpx.AsyncClient) -> None:
    """Each group gets every message from where it began."""
    await define(anyone, "news", mode="fanout")
    first = await anyone.put("/v1/queues/news/groups/a", json={"start": "first"})
    assert first.status_code == 201
    (message_id,) = await push(anyone, "x", name="news")
    late = {"start": {"after": message_id}}
    assert (await anyone.put("/v1/queues/news/groups/b", json=late)).status_code == 201
    assert (await anyone.put("/v1/queues/news/groups/b", json=late)).status_code == 200
    assert len(await read(anyone, "news", group="a")) == 1
    assert await read(anyone, "news", group="b") == []
    stats = (await anyone.get("/v1/queues/news/stats")).json()
    assert set(stats) == {"pushed", "stored", "collected", "expired", "purged", "groups"}
    assert stats["groups"]["a"]["in_flight"] == 1
    missing = await anyone.post("/v1/queues/news/read", json={"consumer": "c", "group": "z"})
    assert (missing.status_code, missing.json()["code"]) == (404, "group_not_found")
    assert (await anyone.delete("/v1/queues/news/groups/a")).status_code == 204
    assert (await anyone.get("/v1/queues/news/stats")).json()["collected"] == 1


async def test_a_read_waits_for_a_message(anyone: httpx.AsyncClient) -> None:
    """A long poll is answered when a message comes, and empty when none does."""
    await define(anyone)
    assert await read(anyone, wait_ms=10) == []
    waiting = asyncio.ensure_future(read(anyone, wait_ms=20_000))
    await asyncio.sleep(0)
    await push(anyone, "late")
    async with asyncio.timeout(10):
        (delivery,) = await waiting
    assert delivery["message"]["payload"] == "late"


async def test_dead_letters_come_back(anyone: httpx.AsyncClient) -> None:
    """They carry where they came from; a redrive takes them there."""
    await define(anyone, max_attempts=1, dead_letter="dead")
    await push(anyone, "x")
    (delivery,) = await read(anyone)
    await settle(anyone, "nack", delivery["handle"], reason="broken")
    (letter,) = (await anyone.get("/v1/queues/dead/peek", params={"count": 5})).json()["items"]
    assert letter["dead_letter"]["origin"] == "mail"
    assert (letter["dead_letter"]["attempts"], letter["dead_letter"]["reason"]) == (1, "broken")
    dry = await anyone.post("/v1/queues/dead/redrive", json={"dry_run": True})
    assert dry.json() == {"redriven": 1}
    wanted = {"filter": {"reason": "brok"}, "rate_per_s": 1000}
    assert (await anyone.post("/v1/queues/dead/redrive", json=wanted)).json() == {"redriven": 1}
    (again,) = await read(anyone)
    assert again["message"]["payload"] == "x"
    await settle(anyone, "release", again["handle"])


async def test_operations_on_a_queue(anyone: httpx.AsyncClient) -> None:
    """Pause, resume, move, take over, list, delete."""
    await define(anyone)
    await define(anyone, "later")
    await push(anyone, 1, 2)
    paused = await anyone.post("/v1/queues/mail/pause", json={})
    assert paused.json()["paused"] is True
    assert await read(anyone) == []
    assert (await anyone.post("/v1/queues/mail/resume", json={})).json()["paused"] is False
    moved = await anyone.post("/v1/queues/mail/move", json={"to": "later", "limit": 1})
    assert moved.json() == {"moved": 1}
    (delivery,) = await read(anyone)
    body = {"consumer": "d", "min_idle_ms": 0, "count": 5}
    taken = (await anyone.post("/v1/queues/mail/claim", json=body)).json()
    assert taken["deliveries"][0]["message"]["attempt"] == 2
    assert (await settle(anyone, "ack", delivery["handle"]))[0]["code"] == "stale_delivery"
    page = (await anyone.get("/v1/queues", params={"limit": 1})).json()
    assert [item["name"] for item in page["items"]] == ["later"]
    rest = await anyone.get("/v1/queues", params={"cursor": page["next_cursor"]})
    assert [item["name"] for item in rest.json()["items"]] == ["mail"]
    assert (await anyone.delete("/v1/queues/mail")).status_code == 204
    gone = await anyone.get("/v1/queues/mail")
    assert (gone.status_code, gone.json()["code"]) == (404, "queue_not_found")


async def test_an_ack_with_effects(anyone: httpx.AsyncClient, site: Site) -> None:
    """A message becomes an execution and another message, once."""
    await define(anyone)
    await define(anyone, "log")
    await push(anyone, "x")
    (delivery,) = await read(anyone)
    body = {
        "handle": delivery["handle"],
        "effects": [
            {"execution": {"kind": "work", "id": "made"}},
            {"queue": "log", "message": {"payload": "done"}},
        ],
    }
    assert (await anyone.post("/v1/queues/mail/commit", json=body)).json() == {"ok": True}
    assert (await anyone.post("/v1/queues/mail/commit", json=body)).json()["repeated"] is True
    assert (await site.engine.describe("made")).kind == "work"
    assert len(await read(anyone, "log", count=5)) == 1


async def test_a_name_means_each_tenants_own_queue(site: Site) -> None:
    """Two tenants use one name; the default tenant's queue is the one of programs on the store."""
    keys = {tenant: await site.key(tenant=tenant) for tenant in (OURS, THEIRS, "default")}
    for tenant, key in keys.items():
        async with site.client(key) as client:
            await define(client, dead_letter="dead")
            await push(client, tenant)
    assert [queue.name for queue in await site.engine.queues.list()] == [
        *("dead", "mail", "ours/dead", "ours/mail", "theirs/dead", "theirs/mail")
    ]
    for tenant, key in keys.items():
        async with site.client(key) as client:
            listed = (await client.get("/v1/queues")).json()["items"]
            assert [(one["tenant"], one["name"]) for one in listed] == [
                (tenant, "dead"),
                (tenant, "mail"),
            ]
            assert [one["dead_letter"] for one in listed] == [None, "dead"]
            (delivery,) = await read(client, count=10)
            assert delivery["message"]["payload"] == tenant
            foreign = await client.get("/v1/queues/other%2Fmail")
            assert foreign.status_code == 422
    async with site.client(await site.key(tenant=None)) as operator:
        stats = await operator.get("/v1/queues/mail/stats", params={"tenant": OURS})
        assert stats.json()["in_flight"] == 1
        everything = await operator.get("/v1/queues", params={"tenant": "*"})
        assert len(everything.json()["items"]) == 6


async def test_one_bad_message_refuses_all(anyone: httpx.AsyncClient) -> None:
    """A malformed body is refused as a whole; a full queue by item."""
    await define(anyone, max_size=1)
    body = {"items": [{"payload": 1}, {"payload": 2, "side": "top"}]}
    assert (await anyone.post("/v1/queues/mail/messages", json=body)).status_code == 422
    body = {"items": [{"payload": 1}, {}]}
    assert (await anyone.post("/v1/queues/mail/messages", json=body)).status_code == 422
    body = {"items": [{"payload": 1}, {"payload": 2}]}
    fits, full = (await anyone.post("/v1/queues/mail/messages", json=body)).json()["items"]
    assert (fits["ok"], full["ok"], full["code"]) == (True, False, "queue_full")


async def test_a_claim_goes_on_after_its_cursor_only(anyone: httpx.AsyncClient) -> None:
    """A page of idle deliveries says where the next begins; anything else is refused."""
    await define(anyone)
    await push(anyone, 1, 2)
    await read(anyone, count=2)
    body = {"consumer": "d", "min_idle_ms": 0, "count": 1}
    page = (await anyone.post("/v1/queues/mail/claim", json=body)).json()
    assert page["next_cursor"]
    again = await anyone.post("/v1/queues/mail/claim", json={**body, "cursor": page["next_cursor"]})
    assert len(again.json()["deliveries"]) == 1
    for wrong in ("-", "x|1", "|"):
        refused = await anyone.post("/v1/queues/mail/claim", json={**body, "cursor": wrong})
        assert (refused.status_code, refused.json().get("field")) == (422, "cursor")

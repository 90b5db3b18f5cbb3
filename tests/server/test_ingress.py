"""Webhooks over HTTP: whatever arrives, only genuine messages enter, and no call fails us."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx
import pytest

from holdfast.channels import NAMES
from holdfast.client.client import Client
from holdfast.errors import EndpointConflict, EndpointNotFound
from holdfast.model import bounds
from holdfast.model.deployments import NewDeployment, SplitEntry
from holdfast.model.endpoints import EndpointRef, NewEndpoint
from holdfast.model.revisions import Gate
from tests.server.conftest import OURS, THEIRS, Serve, Site
from tests.support.channels import SECRETS, SETTINGS, Sent, message

#: Webhooks that each of seven providers gets: 1430 are 10,000 in all. `make test` sends a few.
INPUTS = int(os.environ.get("HOLDFAST_FUZZ_WEBHOOKS", "60"))


@dataclass(frozen=True)
class Door:
    """A server with an endpoint, and a caller without a key."""

    site: Site
    http: httpx.AsyncClient

    async def put(self, name: str, **changes: Any) -> None:
        """Make the endpoint `inbox` of a provider."""
        await self.site.engine.tasks.publish({"bot": {"conversation": {"busy": "queue"}}})
        new = NewEndpoint(
            id="inbox",
            provider=name,
            conversation="bot",
            settings={
                **SETTINGS.get(name, {}),
                **({"typing": False} if name == "whatsapp" else {}),
            },
            secrets=SECRETS[name],
            rate=bounds.ENDPOINT_RATE,
        )
        await self.site.engine.endpoints.put(replace(new, **changes))

    async def send(self, sent: Sent, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send a webhook, signed now unless other headers are given."""
        request = replace(sent, at_s=_now()).request()
        return await self.http.post(
            "/ingress/local/inbox",
            params=dict(sent.query),
            content=sent.body,
            headers=request.headers if headers is None else headers,
        )

    async def sessions(self) -> int:
        """How many sessions there are."""
        return len((await self.site.engine.sessions.list(limit=1_000)).items)


@pytest.fixture
async def door(serve: Serve) -> AsyncIterator[Door]:
    async with serve(rate=0) as site, site.client() as http:
        yield Door(site, http)


class Mutations:
    """Webhooks that are almost right."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, sent: Sent) -> Sent:
        """Change a webhook in one of many ways."""
        ways = [self._bytes, self._form if sent.form else self._json, self._cut]
        return replace(sent, body=self._random.choice(ways)(sent.body))

    def _bytes(self, body: bytes) -> bytes:
        changed = bytearray(body or b"x")
        for _ in range(self._random.randint(1, 8)):
            changed[self._random.randrange(len(changed))] = self._random.randrange(256)
        return bytes(changed)

    def _cut(self, body: bytes) -> bytes:
        return body[: self._random.randrange(len(body) + 1)]

    def _form(self, body: bytes) -> bytes:
        fields = dict(parse_qsl(body.decode()))
        for name in list(fields):
            if self._random.random() < 0.3:
                fields[name] = str(self._value())
        return urlencode(fields, errors="surrogatepass").encode()

    def _json(self, body: bytes) -> bytes:
        changed = self._changed(json.loads(body), 0.15)
        return json.dumps(changed).encode("utf-8", "surrogatepass")

    def _changed(self, value: Any, chance: float) -> Any:
        if self._random.random() < chance:
            return self._value()
        if isinstance(value, dict):
            return {
                name: self._changed(one, chance)
                for name, one in value.items()
                if self._random.random() > 0.05
            }
        if isinstance(value, list):
            return [self._changed(one, chance) for one in value] * self._random.choice([1, 1, 3])
        return value

    def _value(self) -> Any:
        return self._random.choice(
            [
                *(None, True, 0, -1, 10**30, 1e308, "", "\0", "\ud800", "x" * 300, "\u202e\u0301"),
                *("<first@x>", ":", "a:b:c", "reply-999999999999999999999", "message", [], {}),
                *([[[[]]]], {"id": 1}, {"type": "message"}, "1" * 5_000, " ", "url_verification"),
            ]
        )


@pytest.mark.timeout(3_600 if INPUTS > 1_000 else 60)
@pytest.mark.parametrize("name", NAMES)
async def test_no_webhook_fails_us_and_none_enters_unverified(door: Door, name: str) -> None:
    """Almost genuine ones, signed and not: answers are 2xx or 4xx, without a signature 401."""
    await door.put(name)
    mutate = Mutations(7)
    forged = {"content-type": message(name).request().header("content-type")}
    for number in range(INPUTS // 2):
        sent = mutate(message(name, number=number, user=f"u{number}"))
        response = await door.send(sent, forged)
        assert response.status_code == 401, (sent, response.text)
    assert await door.sessions() == 0
    statuses = set()
    for number in range(INPUTS // 2, INPUTS):
        sent = mutate(message(name, number=number, user=f"u{number}"))
        response = await door.send(sent)
        statuses.add(response.status_code)
        assert response.status_code < 500, (sent, response.text)
    assert 200 in statuses


async def test_an_unknown_endpoint_answers_as_a_wrong_signature(door: Door) -> None:
    await door.put("slack")
    answers = [
        await door.send(message("slack"), {}),
        await door.http.post("/ingress/local/nobody", content=b"{}"),
        await door.http.post("/ingress/nowhere/inbox", content=b"{}"),
        await door.http.get("/ingress/local/inbox", params={"hub.challenge": "1"}),
    ]
    problems = [{**answer.json(), "request": None} for answer in answers]
    assert [answer.status_code for answer in answers] == [401] * 4
    assert all(problem == problems[0] for problem in problems)


async def test_a_large_body_is_refused(door: Door) -> None:
    await door.put("http")
    response = await door.http.post(
        "/ingress/local/inbox", content=b"x" * (bounds.WEBHOOK_BYTES + 1)
    )
    assert response.status_code == 413


async def test_nothing_in_a_call_chooses_whose_it_is(door: Door) -> None:
    """Neither a tenant nor a deployment, in the query or the body; headers do not, either."""
    await door.put("webhook")
    sent = message("webhook")
    request = replace(sent, at_s=_now()).request()
    response = await door.http.post(
        "/ingress/local/inbox?tenant=theirs&deployment=other&revision=r1",
        content=sent.body,
        headers={**request.headers, "x-tenant": THEIRS},
    )
    assert response.status_code == 200
    (session,) = (await door.site.engine.sessions.list()).items
    assert (session.key.tenant, session.key.endpoint, session.revision) == (
        "default",
        "inbox",
        None,
    )
    body = json.dumps({**json.loads(sent.body), "tenant": THEIRS}).encode()
    assert (await door.send(replace(sent, body=body))).status_code == 400


async def test_nothing_in_a_call_chooses_a_revision(door: Door) -> None:
    """Nor the deployment: the endpoint names it, and its split decides."""
    deployments = door.site.engine.deployments
    await door.put("webhook")
    for name in ("shop", "other"):
        new = NewDeployment(env="local", id=name, tenant="default", app="bot")
        made, _ = await deployments.create(new)
        for revision in (f"{name}-1", f"{name}-2"):
            await deployments.stage(made.ref, revision_id=revision)
            seen = await deployments.warm(made.ref, revision)
            gates = [Gate(name="loads", passed=True)]
            await deployments.judge(made.ref, revision, gates, seen=seen.version)
        entries = [SplitEntry(revision=f"{name}-1", weight_bps=10_000)]
        await deployments.set_split(made.ref, entries, expected_generation=0)
    await door.put("webhook", conversation=None, deployment="shop")
    sent = message("webhook")
    headers = replace(sent, at_s=_now()).request().headers
    chosen = {"x-holdfast-revision": "shop-2", "x-revision": "shop-2", "cookie": "shop=shop-2"}
    response = await door.http.post(
        "/ingress/local/inbox?deployment=other&revision=shop-2&tenant=theirs",
        content=sent.body,
        headers={**headers, **chosen, "x-deployment": "other", "x-tenant": THEIRS},
    )
    assert response.status_code == 200
    (session,) = (await door.site.engine.sessions.list()).items
    assert (session.revision, session.key.tenant) == ("shop-1", "default")
    for field in ("deployment", "revision", "endpoint", "env"):
        body = json.dumps({**json.loads(sent.body), field: "other"}).encode()
        assert (await door.send(replace(sent, body=body))).status_code == 400


def _now() -> int:
    return int(time.time())


async def test_endpoints_are_managed_over_http(site: Site) -> None:
    """By their tenant; values of secrets do not come out."""
    ours, theirs = await site.key(tenant=OURS), await site.key(tenant=THEIRS)
    new = NewEndpoint(
        id="inbox", tenant=OURS, provider="http", deployment="shop", secrets={"token": "s3cret"}
    )
    async with Client(site.url, key=ours) as client:
        put, created = await client.endpoints.put(new)
        assert created
        assert await client.endpoints.get(EndpointRef(id="inbox")) == put
        assert put.secrets == ("token",)
        again, created = await client.endpoints.put(replace(new, secrets={}, rate=3))
        assert (created, again.rate, again.secrets) == (False, 3, ("token",))
        page = await client.endpoints.list()
        assert [(one.id, one.deployment) for one in page.items] == [("inbox", "shop")]
    async with Client(site.url, key=theirs) as client:
        assert not (await client.endpoints.list()).items
        for call in (client.endpoints.get, client.endpoints.delete):
            with pytest.raises(EndpointNotFound):
                await call(EndpointRef(id="inbox"))
        with pytest.raises(EndpointConflict):
            await client.endpoints.put(replace(new, tenant=THEIRS))
    async with site.client(ours) as http:
        shown = await http.get("/v1/envs/local/endpoints/inbox")
        assert "s3cret" not in shown.text
        assert (await http.delete("/v1/envs/local/endpoints/inbox")).status_code == 204

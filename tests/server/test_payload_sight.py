"""A key without payloads: whatever it reads, live or not, it finds none."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator

import pytest

from holdfast.client import Client
from holdfast.engine import Engine
from holdfast.errors import Forbidden, InvalidInput
from holdfast.model.executions import Failure, NewExecution
from holdfast.model.files import FileLimits
from holdfast.model.frames import NewFrame
from holdfast.model.ids import new_id
from holdfast.model.schedules import NewSchedule
from holdfast.model.sessions import MessageWait, NewReply, ValueChange
from holdfast.model.sight import HIDDEN, REDACTED, Payloads
from holdfast.model.timing import Timing
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.server.http.declare import Route, Scope
from holdfast.server.routes import all_routes
from tests.server.conftest import OURS, Serve, Site
from tests.server.samples import (
    DERIVED,
    MAKERS,
    activity,
    archived,
    claimed,
    conversation,
    flow_session,
    parameters,
)

MARKER = "planted-4711"
#: A field that rules can redact, in every payload.
PAYLOAD = json.dumps({"text": MARKER, "secret": MARKER}).encode()
READS = [
    route for route in all_routes() if route.method == "GET" and route.scope is not Scope.PUBLIC
]
#: Calls that change nothing, although they are no GET.
REHEARSE = "/v1/sessions/{id}/rehearse"
BULK = "/v1/bulk of failed ones"
#: Where the marker stands for a key that sees everything. It keeps the walk honest.
SHOWN = {
    "/v1/executions/{id}",
    "/v1/executions/{id}/attempts",
    "/v1/executions/{id}/diff",
    "/v1/executions/{id}/export",
    "/v1/executions/{id}/history",
    "/v1/executions/{id}/events",
    "/v1/executions/{id}/input",
    "/v1/executions/{id}/logs",
    "/v1/executions/{id}/result",
    "/v1/executions/{id}/signals",
    "/v1/executions/{id}/steps",
    "/v1/executions/{id}/stream",
    "/v1/executions/{id}/summary",
    "/v1/executions/{id}/timeline",
    "/v1/executions/{id}/view",
    "/v1/executions/{id}/waitpoints",
    "/v1/waitpoints",
    "/v1/archive/executions/{id}/export",
    "/v1/archive/executions/{id}/result",
    "/v1/queues/{name}/peek",
    "/v1/schedules",
    "/v1/schedules/{id}",
    "/v1/sessions/{id}",
    "/v1/sessions/{id}/events",
    "/v1/sessions/{id}/moment",
    "/v1/sessions/{id}/state",
    "/v1/sessions/{id}/transcript",
    "/v1/sessions/{id}/files/{file}/content",
    REHEARSE,
}


async def _busy(engine: Engine, *, fails: bool) -> str:
    """Make an execution that has planted the marker everywhere, and failed or waits."""
    lane = f"lane-{new_id()}"
    made = await engine.submit("plant.seed", tenant=OURS, lane=lane, input=PAYLOAD)
    claim = await claimed(engine, lane)
    x, lease = made.id, claim.lease
    await engine.progress(x, lease, 10, MARKER)
    await engine.checkpoint(x, lease, "step", PAYLOAD)
    await engine.checkpoint(x, lease, "bytes", MARKER.encode())
    await engine.set_view(x, lease, PAYLOAD)
    await engine.signal(x, "news", PAYLOAD)
    log = json.dumps({"level": "info", "message": MARKER, "secret": MARKER}).encode()
    frames = [
        NewFrame(type="text", payload=MARKER.encode()),
        NewFrame(type="json", payload=PAYLOAD),
        NewFrame(type="log", payload=log),
        NewFrame(type="summary", payload=PAYLOAD),
    ]
    await engine.streams.append(x, lease, frames)
    if fails:
        error = Failure(type="Boom", message=MARKER, retryable=False, details={"secret": MARKER})
        await engine.fail(x, lease, error)
    else:
        asked = NewWaitpoint(name="ok", title=MARKER, schema={"default": MARKER})
        await engine.waitpoints.suspend(x, lease, [asked], {"waitpoint": "ok"}, timeout_ms=10**6)
    return x


async def _done(engine: Engine) -> str:
    lane = f"lane-{new_id()}"
    made = await engine.submit("plant.seed", tenant=OURS, lane=lane, input=PAYLOAD)
    claim = await claimed(engine, lane)
    await engine.complete(made.id, claim.lease, PAYLOAD)
    return made.id


async def _session(engine: Engine) -> str:
    lane = f"lane-{new_id()}"
    name = await conversation(engine, OURS, options={"lane": lane})
    said = activity(name, OURS)
    await engine.sessions.deliver(name, type(said)(key=said.key, payload=PAYLOAD))
    claim = await claimed(engine, lane)
    assert claim.session is not None
    change = ValueChange(name="secret", value=PAYLOAD)
    await engine.sessions.set_state(claim.id, claim.lease, "set:1", change)
    replies = [NewReply(step="say:1", payload=PAYLOAD)]
    await engine.sessions.turn(claim.id, claim.lease, replies, MessageWait(step="receive:1"))
    return claim.session.id


async def _content() -> AsyncIterator[bytes]:
    yield MARKER.encode()


async def _plant(engine: Engine) -> list[dict[str, str]]:
    """Make one of everything that has payloads, with an execution that waits, failed or is done."""
    queue = f"queue-{new_id()}"
    await engine.queues.define(f"{OURS}/{queue}")
    await engine.queues.push(f"{OURS}/{queue}", PAYLOAD)
    execution = NewExecution(kind="plant.seed", tenant=OURS, input=PAYLOAD)
    plan = NewSchedule(id=new_id(), execution=execution, timing=Timing(every_ms=60_000))
    session = await _session(engine)
    file = await engine.files.add(session, "order.txt", _content(), FileLimits())
    samples = {
        "name": queue,
        "schedules.id": (await engine.schedules.create(plan))[0].id,
        "sessions.id": session,
        "files.id": session,
        "files.file": file.id,
        "rehearsals.id": await flow_session(engine, OURS, MARKER.encode()),
        "archive.id": await archived(engine, OURS, PAYLOAD),
    }
    made = [await _busy(engine, fails=False), await _busy(engine, fails=True), await _done(engine)]
    # The first waits, and has a waitpoint.
    samples |= {"waitpoints.id": made[0], "wp": f"{made[0]}~w1", "other": made[2]}
    return [samples | {"id": x} for x in made]


async def _path(route: Route, engine: Engine, sample: dict[str, str]) -> str:
    values: dict[str, str] = {}
    for name in parameters(route):
        key = f"{route.tag}.{name}"
        planted = sample.get(key) or (sample.get(name) if key not in MAKERS else None)
        derive = DERIVED.get(key) or DERIVED.get(name)
        if planted is None:
            make = MAKERS.get(key) or MAKERS.get(name)
            planted = derive(values) if derive else await make(engine, OURS)  # type: ignore[misc]
        values[name] = planted
    return route.path.format_map(values)


def _queries(route: Route, sample: dict[str, str]) -> list[dict[str, str]]:
    if route.path != "/v1/executions/{id}/diff":
        return [dict(route.query_example)]
    other = {"other": sample["other"]}
    return [other, other | {"attempt": "0", "other_attempt": "0"}]


async def _walk(site: Site, secret: str, samples: list[dict[str, str]]) -> dict[str, str]:
    """Read every route as the holder of a key; return everything that each has said."""
    said: dict[str, str] = {}
    live = {"Accept": "text/event-stream"}
    async with site.client(secret) as client:
        for route in READS:
            asked = {await _path(route, site.engine, one): _queries(route, one) for one in samples}
            both = ({}, live) if route.path.endswith("/stream") else ({},)
            answers = [
                await client.get(path, headers=headers, params=query)
                for path, queries in asked.items()
                for query in queries
                for headers in both
            ]
            said[route.path] = "\n".join(answer.text for answer in answers)
        path = REHEARSE.format(id=samples[0]["rehearsals.id"])
        said[REHEARSE] = (await client.post(path, json={"steps": [{"say": "hello"}]})).text
        wanted = {"action": "replay", "filter": {"kind": "plant.seed"}, "dry_run": True}
        said[BULK] = (await client.post("/v1/bulk", json=wanted)).text
    return said


def _found(said: dict[str, str]) -> set[str]:
    encoded = base64.b64encode(MARKER.encode()).decode()[:12]
    return {path for path, text in said.items() if MARKER in text or encoded in text}


async def test_a_key_without_payloads_reads_none(serve: Serve) -> None:
    """Every GET and every feed, as three keys: one sees the marker, the others never."""
    async with serve(tail_s=0.2, rate=0) as site:
        engine = site.engine
        samples = await _plant(engine)
        everything = await _walk(site, await site.key(payloads=Payloads.ALL), samples)
        assert _found(everything) >= SHOWN

        nothing = await _walk(site, await site.key("operator", payloads=Payloads.NONE), samples)
        assert _found(nothing) == set()
        assert HIDDEN in nothing["/v1/executions/{id}/steps"]
        assert '"type":"Boom"' in nothing["/v1/executions/{id}"]
        assert '"type":"Boom"' in nothing["/v1/executions/{id}/diff"]
        assert '"forbidden"' in nothing[REHEARSE]

        await engine.redactions.add("**.secret", kind="plant.*", tenant=OURS)
        await engine.redactions.add("text", tenant=OURS)
        await engine.redactions.add("message", tenant=OURS)
        redacted = await _walk(
            site, await site.key("operator", payloads=Payloads.REDACTED), samples
        )
        assert _found(redacted) <= FREE
        assert REDACTED in redacted["/v1/executions/{id}/input"]
        assert '"forbidden"' in redacted[REHEARSE]
        assert f'"vars":{{"asked":1,"text":"{REDACTED}"}}' in redacted["/v1/sessions/{id}/moment"]


#: Rules name fields of payloads; words and bytes have none.
FREE = {
    "/v1/executions/{id}",
    "/v1/executions/{id}/steps",
    "/v1/executions/{id}/stream",
    "/v1/executions/{id}/timeline",
    "/v1/executions/{id}/waitpoints",
    "/v1/waitpoints",
}


async def test_each_of_two_is_compared_by_the_rules_of_its_task(serve: Serve) -> None:
    """A rule for the task of the other one hides its parts, and their paths, too."""
    async with serve(rate=0) as site:
        engine, kind = site.engine, f"task-{new_id()}"
        await engine.redactions.add("card", kind=kind, tenant=OURS)
        free = await engine.submit("any.task", tenant=OURS, input=b'{"card": {}, "sum": 1}')
        hidden = b'{"card": {"number": "%s"}, "sum": 2}' % MARKER.encode()
        ruled = await engine.submit(kind, tenant=OURS, input=hidden)
        async with site.client(await site.key("viewer", payloads=Payloads.REDACTED)) as client:
            for one, other in ((free, ruled), (ruled, free)):
                answer = await client.get(
                    f"/v1/executions/{one.id}/diff", params={"other": other.id}
                )
                paths = [tuple(item["path"]) for item in answer.json()["items"]]
                assert paths == [("kind",), ("input", "card"), ("input", "sum")]
                assert MARKER not in answer.text


async def test_rules_are_the_same_near_and_far(serve: Serve) -> None:
    """Added over HTTP, listed near; a tenant's admin has those of its own tenant only."""
    async with serve(rate=0) as site:
        key = await site.key(payloads=Payloads.REDACTED)
        async with Client(site.url, key=key) as far:
            rule = await far.redactions.add("card.number", kind="pay.*", tenant=OURS)
            await far.redactions.add("card.number", kind="pay.*", tenant=OURS)
            await site.engine.redactions.add("pin", tenant="theirs")
            assert await far.redactions.list(tenant=OURS) == [rule]
            assert rule in await site.engine.redactions.list()
            with pytest.raises(Forbidden):
                await far.redactions.add("pin", tenant="theirs")
            await far.redactions.remove("card.number", kind="pay.*", tenant=OURS)
            assert await far.redactions.list(tenant=OURS) == []
            assert (await far.api_keys.me()).payloads is Payloads.REDACTED


@pytest.mark.parametrize("role", ["worker", "admin"])
async def test_a_worker_and_an_admin_see_payloads(serve: Serve, role: str) -> None:
    """A worker without its input could only do harm; an admin could make itself another key."""
    async with serve() as site:
        with pytest.raises(InvalidInput):
            await site.key(role, payloads=Payloads.NONE)


async def test_rules_do_not_reach_workers(serve: Serve) -> None:
    """A claim has the input as it was submitted."""
    async with serve() as site:
        await site.engine.redactions.add("secret")
        await site.engine.submit("plant.seed", tenant=OURS, input=PAYLOAD)
        async with Client(
            site.url, key=await site.key("worker", payloads=Payloads.REDACTED)
        ) as far:
            async with far.claimer(worker="w", lanes=["default"]) as claimer:
                (claim,) = await claimer.claim(1, 60_000)
            assert claim.input == PAYLOAD
            assert REDACTED.encode() in await far.input(claim.id)

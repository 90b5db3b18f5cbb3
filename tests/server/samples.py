"""How to make one of each noun in a tenant, for the tests that are made from the routes.

A function for each parameter of a path; it returns the value. A new noun adds its own here.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx

from holdfast.archive import Archiver, open_archive, set_archive
from holdfast.engine import Engine
from holdfast.fencing import Ask, Leases
from holdfast.fencing.in_store import StoreObjects
from holdfast.host import packs
from holdfast.model.bulk import BulkAction, NewBulk
from holdfast.model.deployments import DeploymentRef, NewDeployment, SplitEntry
from holdfast.model.endpoints import NewEndpoint
from holdfast.model.executions import Claim, NewExecution
from holdfast.model.files import FileLimits
from holdfast.model.graphs import Edge
from holdfast.model.ids import new_id
from holdfast.model.listing import Filter
from holdfast.model.revisions import Gate
from holdfast.model.rollouts import Step
from holdfast.model.saved_views import SavedView
from holdfast.model.schedules import NewSchedule
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, MessageWait, NewReply
from holdfast.model.timing import Timing
from holdfast.model.waitpoints import NewWaitpoint, waitpoint_id
from holdfast.server.http.declare import JSON, Route
from holdfast.testing.clock import Clock
from tests.support.packs import pack_of

Make = Callable[[Engine, str], Awaitable[str]]
#: What `httpx.AsyncClient.request` takes.
Request = dict[str, Any]

#: A call that waits or streams is not waited for longer.
ANSWER_S = 60

#: Where the archive of the samples is.
FOLDER = tempfile.TemporaryDirectory(prefix="holdfast-archive-")


#: The archive of a small pack.
ARCHIVE = packs.build(pack_of())


async def _execution(engine: Engine, tenant: str) -> str:
    return (await engine.submit("mail.send", tenant=tenant, input=b'{"to":"ann"}')).id


async def _bulk(engine: Engine, tenant: str) -> str:
    """Make a bulk action on executions that there are not."""
    wanted = Filter(tenant=tenant, lane=f"lane-{new_id()}")
    return (await engine.bulk.start(NewBulk(action=BulkAction.CANCEL, wanted=wanted))).id


async def _saved_view(engine: Engine, _tenant: str) -> str:
    return (await engine.saved_views.put(SavedView(name="Failed today", page="runs"))).name


async def _worker(engine: Engine, tenant: str) -> str:
    instance = f"w-{new_id()}"
    await engine.workers.register(instance, worker="w", lanes=["default"], tenant=tenant)
    return instance


async def _key(engine: Engine, tenant: str) -> str:
    key, _ = await engine.api_keys.create(roles=["viewer"], tenant=tenant)
    return key.id


async def _lane(_engine: Engine, _tenant: str) -> str:
    return f"lane-{new_id()}"


async def _prepared(engine: Engine, tenant: str) -> str:
    """Make an execution with a waitpoint, `~w1`."""
    lane = f"lane-{new_id()}"
    made = await engine.submit("mail.send", tenant=tenant, lane=lane)
    async with engine.claimer(worker="w", lanes=[lane]) as claimer:
        (claim,) = await claimer.claim(1, 60_000)
    await engine.waitpoints.prepare(made.id, claim.lease, [NewWaitpoint(name="mail")])
    return made.id


async def _waitpoint(engine: Engine, tenant: str) -> str:
    return waitpoint_id(await _prepared(engine, tenant), 1)


async def _graph(engine: Engine, tenant: str) -> str:
    members = {key: NewExecution(kind="k", tenant=tenant) for key in ("fetch", "parse")}
    edges = [Edge(source="fetch", target="parse")]
    return (await engine.graphs.submit(members, edges, tenant=tenant)).id


#: Parameters that follow from others.
DERIVED: dict[str, Callable[[Mapping[str, str]], str]] = {
    "wp": lambda values: waitpoint_id(values["id"], 1),
    "r": lambda values: f"r-{values['d']}",
    "o": lambda values: f"o-{values['d']}",
    "files.file": lambda values: _FILES[values["id"]],
}


async def _tenant(_engine: Engine, tenant: str) -> str:
    return tenant


async def _static_file(_engine: Engine, _tenant: str) -> str:
    return "chat.js"


async def _no_file(_engine: Engine, _tenant: str) -> str:
    return new_id()


async def _page(_engine: Engine, _tenant: str) -> str:
    return "runs"


async def _env(_engine: Engine, _tenant: str) -> str:
    return "local"


async def _own_env(engine: Engine, _tenant: str) -> str:
    return (await engine.envs.put(f"env-{new_id()}"))[0].name


async def _pack(engine: Engine, tenant: str) -> str:
    files = {
        "pack.yaml": b"id: shop\nversion: 1.0.0\n",
        "flows/main.yaml": b"id: main\nnodes: {a: {emit: {text: hi}}}\n",
        "README.md": new_id().encode(),
    }
    upload = packs.upload_of(packs.build(pack_of(files)))
    return (await engine.packs.put(upload, tenant=tenant))[0].digest


async def _flow(_engine: Engine, _tenant: str) -> str:
    return "main"


async def deployment(engine: Engine, tenant: str) -> str:
    """Make a deployment of an app, and its revision `r-ID`."""
    name = f"d-{new_id()}"
    new = NewDeployment(env="local", id=name, tenant=tenant, app="talk")
    made, _ = await engine.deployments.create(new)
    await engine.deployments.stage(made.ref, revision_id=f"r-{name}")
    return name


async def rollout(engine: Engine, tenant: str) -> str:
    """Make a deployment `ID` with a rollout `o-ID`, from the revision `r-ID` to `n-ID`."""
    name = await deployment(engine, tenant)
    ref = DeploymentRef(env="local", id=name, tenant=tenant)
    await engine.deployments.stage(ref, revision_id=f"n-{name}")
    for revision in (f"r-{name}", f"n-{name}"):
        seen = await engine.deployments.warm(ref, revision)
        gates = [Gate(name="loads", passed=True)]
        await engine.deployments.judge(ref, revision, gates, seen=seen.version)
    entries = [SplitEntry(revision=f"r-{name}", weight_bps=10_000)]
    await engine.deployments.set_split(ref, entries, expected_generation=0)
    steps = [Step(weight_bps=1_000, duration_ms=3_600_000), Step(weight_bps=10_000)]
    await engine.rollouts.start(ref, f"n-{name}", steps, rollout_id=f"o-{name}")
    return name


async def _queue(engine: Engine, tenant: str) -> str:
    name = f"queue-{new_id()}"
    await engine.queues.define(name if tenant == "default" else f"{tenant}/{name}", mode="fanout")
    return name


async def _group(_engine: Engine, _tenant: str) -> str:
    return f"group-{new_id()}"


async def _budget(engine: Engine, tenant: str) -> str:
    budget, _ = await engine.budgets.create(tenant=tenant, limits={"tokens": {"hard": 10**6}})
    return budget.id


async def _quota(engine: Engine, tenant: str) -> str:
    quota, _ = await engine.quotas.create(tenant=tenant, max_concurrent=5)
    return quota.id


async def endpoint(engine: Engine, tenant: str) -> str:
    """Make an endpoint of a program in the env `local`."""
    new = NewEndpoint(
        id=f"in-{new_id()}",
        tenant=tenant,
        provider="http",
        conversation="talk",
        secrets={"token": "correct horse"},
    )
    return (await engine.endpoints.put(new))[0].id


async def _secret(engine: Engine, tenant: str) -> str:
    return (await engine.secrets.set(f"secret-{new_id()}", "value", tenant=tenant)).name


async def _schedule(engine: Engine, tenant: str) -> str:
    execution = NewExecution(kind="work", tenant=tenant)
    plan = NewSchedule(id=new_id(), execution=execution, timing=Timing(every_ms=60_000))
    return (await engine.schedules.create(plan))[0].id


async def _writer_lease(engine: Engine, tenant: str) -> str:
    key = f"reports-{new_id()}"
    stored = key if tenant == "default" else f"tenants/{tenant}/{key}"
    ask = Ask(holder="h", incarnation="i", ttl_ms=30_000, margin_ms=5_000)
    await Leases(StoreObjects(engine.store)).acquire(stored, ask)
    return key


async def archived(engine: Engine, tenant: str, payload: bytes | None = None) -> str:
    """Make an execution that is in the archive of the store only."""
    store = engine.store
    if await store.archives.url() is None:
        await set_archive(store, FOLDER.name)
    lane = f"lane-{new_id()}"
    sent = payload or b"null"
    made = await engine.submit("mail.send", tenant=tenant, lane=lane, retention_ms=0, input=sent)
    async with engine.claimer(worker="w", lanes=[lane]) as claimer:
        (claim,) = await claimer.claim(1, 60_000)
    await engine.complete(made.id, claim.lease, payload or b"17")
    await Clock(store).tick()
    await Archiver(store, (await open_archive(store)).objects).run_once(wait_s=10)
    return made.id


async def conversation(engine: Engine, tenant: str, **about: Any) -> str:
    """Publish a conversation, as a worker of the tenant would."""
    name = f"talk-{new_id()}"
    await engine.tasks.publish({name: {"conversation": {}, **about}}, tenant=tenant)
    return name


def activity(name: str, tenant: str, user: str = "ann") -> Activity:
    """Make a message of a user."""
    key = SessionKey(tenant=tenant, endpoint=name, conversation="room-1", user=user)
    return Activity(key=key, payload=b'{"text":"hello"}')


async def _session(engine: Engine, tenant: str) -> str:
    """Make a session whose conversation has written a reply and waits."""
    return (await conversing(engine, tenant))[0]


#: The file of each session that was made with one.
_FILES: dict[str, str] = {}


async def _session_with_file(engine: Engine, tenant: str) -> str:
    session = await _session(engine, tenant)
    file = await engine.files.add(session, "order.txt", _content(), FileLimits())
    _FILES[session] = file.id
    return session


async def _content() -> AsyncIterator[bytes]:
    yield b"one pizza"


async def conversing(engine: Engine, tenant: str) -> tuple[str, str]:
    """Return a session with a reply, and the name of its conversation."""
    lane = f"lane-{new_id()}"
    name = await conversation(engine, tenant, options={"lane": lane})
    await engine.sessions.deliver(name, activity(name, tenant))
    claim = await claimed(engine, lane)
    assert claim.session is not None
    replies = [NewReply(step="say:1", payload=b'{"text":"Which order?"}')]
    await engine.sessions.turn(claim.id, claim.lease, replies, MessageWait(step="receive:1"))
    return claim.session.id, name


FLOW_ENV = "flows"
#: The files of a pack that says something and waits.
ASKING = {
    "pack.yaml": b"id: asking\nversion: 1.0.0\n",
    "flows/main.yaml": b"id: main\nnodes:\n"
    b"  ask: {emit: {text: Which order?}, out: number,\n"
    b"        set: {asked: '{{ 1 }}', text: '{{ input.text }}'}}\n"
    b"  number: {wait: {}, out: end}\n",
}


async def flow_session(engine: Engine, tenant: str, text: bytes = b"hello") -> str:
    """Make a session that a flow of a pack answers."""
    files = {**ASKING, "README.md": new_id().encode()}
    upload = packs.upload_of(packs.build(pack_of(files)))
    await engine.packs.put(upload, tenant=tenant)
    name = f"asking-{new_id()[-8:]}"
    # In an env of its own: a recipe takes revisions of the other away.
    await engine.envs.put(FLOW_ENV, unsigned_packs=True)
    made, _ = await engine.deployments.create(
        NewDeployment(env=FLOW_ENV, id=name, tenant=tenant, pack="asking")
    )
    await engine.deployments.stage(made.ref, digest=upload.digest, revision_id=name)
    await engine.tasks.publish({"asking:main": {"conversation": {}}}, tenant=tenant)
    said = activity(name, tenant)
    payload = b'{"text":"%s"}' % text
    said = replace(said, key=replace(said.key, env=FLOW_ENV), payload=payload)
    return (await engine.sessions.deliver("asking:main", said, revision=name)).session


async def claimed(engine: Engine, lane: str) -> Claim:
    """Claim from a lane."""
    async with engine.claimer(worker="w", lanes=[lane]) as claimer:
        (claim,) = await claimer.claim(1, 60_000)
    return claim


#: By the name of the parameter, or by route and name where the same name means something else.
MAKERS: dict[str, Make] = {
    "id": _execution,
    "bulk.id": _bulk,
    "saved_views.name": _saved_view,
    "instance": _worker,
    "key": _key,
    "lane": _lane,
    "waitpoints.id": _prepared,
    "graphs.id": _graph,
    "waitpoint": _waitpoint,
    "name": _queue,
    "writer_leases.key": _writer_lease,
    "schedules.id": _schedule,
    "budgets.id": _budget,
    "quotas.id": _quota,
    "secrets.name": _secret,
    "endpoint": endpoint,
    "group": _group,
    "archive.id": archived,
    "conversations.name": conversation,
    "chat.name": conversation,
    "static.file": _static_file,
    "chat.file": _no_file,
    "files.id": _session_with_file,
    "console_page.page": _page,
    "console_page.id": _page,
    "sessions.id": _session,
    "rehearsals.id": flow_session,
    "env": _env,
    "envs.env": _own_env,
    "packs.digest": _pack,
    "packs.flow": _flow,
    "d": deployment,
    "rollouts.d": rollout,
    "tenant": _tenant,
}


def parameters(route: Route) -> list[str]:
    """Return the names of the path's parameters."""
    return re.findall(r"{(\w+)}", route.path)


async def values_of(route: Route, engine: Engine, tenant: str) -> dict[str, str]:
    """Return values for the parameters of the path, about a thing of this tenant."""
    values: dict[str, str] = {}
    for name in parameters(route):
        if derive := DERIVED.get(f"{route.tag}.{name}") or DERIVED.get(name):
            values[name] = derive(values)
            continue
        make = MAKERS.get(f"{route.tag}.{name}") or MAKERS[name]
        values[name] = await make(engine, tenant)
    return values


async def path_of(route: Route, engine: Engine, tenant: str) -> str:
    """Return the path of a route, about a thing of this tenant."""
    return route.path.format_map(await values_of(route, engine, tenant))


def request_of(route: Route, path: str) -> Request:
    """Return a request that fits the route's declaration."""
    request: Request = {"method": route.method, "url": path}
    if route.accepts != JSON:
        request["content"] = ARCHIVE
    elif route.body is not None:
        request["json"] = route.example if route.example is not None else {}
    if route.query_example:
        request["params"] = dict(route.query_example)
    return request


async def send(client: httpx.AsyncClient, request: Request) -> httpx.Response:
    """Send a request; of a stream only the start counts."""
    async with asyncio.timeout(ANSWER_S):
        response = await client.send(client.build_request(**request), stream=True)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            response._content = await anext(response.aiter_raw())
            await response.aclose()
        else:
            await response.aread()
    return response


def naming(route: Route, request: Request, tenant: str) -> Request | None:
    """Return the request with a field that names a tenant; None if it has none."""
    for source, place in ((route.query, "params"), (route.body, "json")):
        if "tenant" in getattr(source, "__struct_fields__", ()):
            return {**request, place: {**request.get(place, {}), "tenant": tenant}}
    return None

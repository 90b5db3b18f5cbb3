"""Things that the fuzzer calls about: in the states in which calls do something.

A thing is the parameters of its path, and fields that a body about it may have.
"""

from __future__ import annotations

from typing import Any

from holdfast.engine import Engine
from holdfast.model.executions import Claim
from holdfast.model.waitpoints import NewWaitpoint, waitpoint_id
from holdfast.server.http.declare import Route
from tests.server.samples import values_of

Thing = dict[str, dict[str, Any]]
TENANT = "default"
#: Of each kind for each route: some calls use them up.
_COPIES = 3


async def things_of(route: Route, engine: Engine) -> list[Thing]:
    """Make things that the path of a route may name."""
    if not route.params:
        return []
    made = []
    for _ in range(_COPIES):
        made.append(_thing(await values_of(route, engine, TENANT)))
        if route.path.startswith("/v1/executions/{id}"):
            made += [await _held(engine), await _suspended(engine), await _ended(engine)]
        elif route.path.startswith("/v1/queues/{name}"):
            made.append(await _read(engine, made[-1]["path"]["name"]))
        elif route.path.startswith("/v1/signals/"):
            made.append(await _asked(engine))
    return made


def _thing(path: dict[str, str], **fields: Any) -> Thing:
    return {"path": path, "fields": fields}


async def _claimed(engine: Engine) -> Claim:
    await engine.submit("work", lane="held")
    async with engine.claimer(worker="w", lanes=["held"]) as claimer:
        (claim,) = await claimer.claim(1, 600_000)
    return claim


async def _held(engine: Engine) -> Thing:
    """An execution that runs, with a waitpoint, and its lease."""
    claim = await _claimed(engine)
    lease = claim.lease
    await engine.waitpoints.prepare(claim.id, lease, [NewWaitpoint(name="mail")])
    held = {"id": lease.id, "epoch": lease.epoch, "attempt": lease.attempt}
    return _thing({"id": claim.id, "wp": waitpoint_id(claim.id, 1)}, lease=held)


async def _suspended(engine: Engine) -> Thing:
    claim = await _claimed(engine)
    point = NewWaitpoint(name="mail")
    await engine.waitpoints.suspend(claim.id, claim.lease, [point], {"waitpoint": "mail"})
    return _thing({"id": claim.id, "wp": waitpoint_id(claim.id, 1)})


async def _ended(engine: Engine) -> Thing:
    claim = await _claimed(engine)
    await engine.complete(claim.id, claim.lease, b'{"done": true}')
    return _thing({"id": claim.id, "wp": waitpoint_id(claim.id, 1)})


async def _asked(engine: Engine) -> Thing:
    """A waitpoint, with its token."""
    suspended = await _suspended(engine)
    waitpoint = suspended["path"]["wp"]
    token = await engine.waitpoints.token(waitpoint, reader="tests")
    return _thing({"waitpoint": waitpoint}, token=token.reveal())


async def _read(engine: Engine, queue: str) -> Thing:
    """A queue with a group, another to move to, and a message that was handed out."""
    await engine.queues.define(f"{queue}-other", mode="fanout")
    await engine.queues.add_group(queue, "readers")
    for payload in (b"1", b"2", b"3"):
        await engine.queues.push(queue, payload)
    (message,) = await engine.queues.read(queue, consumer="c", group="readers")
    return _thing(
        {"name": queue, "group": "readers"},
        group="readers",
        to=f"{queue}-other",
        handle=message.handle,
        items=[{"handle": message.handle}],
    )

"""A session is rehearsed: exactly as it was, and as it might have been."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.errors import FlowNotFound, InvalidInput
from holdfast.host.builder import HostBuilder
from holdfast.host.host import Host
from holdfast.host.packs import build, bundle, upload_of
from holdfast.host.simulator import reader
from holdfast.host.simulator.moments import rehearse
from holdfast.host.simulator.results import Verdict
from holdfast.host.simulator.script import Status
from holdfast.model.activities import NewActivity
from holdfast.model.deployments import DeploymentRef
from holdfast.model.revisions import Lifecycle
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity
from holdfast.testing.servers import TestServer
from holdfast.testing.simulator import Simulator, simulated
from tests.support.conversing import NAME, publish
from tests.support.hosting import reached, shift, stage
from tests.support.pack_hosts import read_pack

SUPPORT = DeploymentRef(env="local", id="support", tenant="default")


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock."""
    async with open_engine(real_url) as opened:
        yield opened


@pytest.fixture
async def host(engine: Engine) -> AsyncIterator[Host]:
    """A host that serves the example."""
    builder = HostBuilder(engine).work(lease_ms=5_000).policy(trusted=True)
    async with builder.build().running() as running:
        await stage(engine, "r1", upload_of(build(read_pack("support")[0])), SUPPORT)
        await reached(engine, "r1", Lifecycle.READY, SUPPORT)
        await shift(engine, "r1", SUPPORT)
        yield running


async def talk(host: Host, *texts: str) -> str:
    """Let ann say something; returns the session."""
    for text in texts:
        payload = b'{"text":"%s"}' % text.encode()
        answer = await host.handle_activity(
            NewActivity(conversation="c", user="ann", payload=payload)
        )
    return answer.session


async def passes(server: TestServer, test: str) -> list[Any]:
    """Play the text of a test."""
    simulator = Simulator(bundle(read_pack("support")[0]))
    async with simulated(simulator, server) as world:
        outcomes = [
            one async for one in simulator.play_all(world, reader.read_text(test, "t.yaml"))
        ]
    return [(one.verdict, one.message) for one in outcomes]


async def test_every_line_of_a_session_is_a_moment_and_any_of_them_can_be_left(
    host: Host, engine: Engine, holdfast_server: TestServer
) -> None:
    """The graph, the path and the variables move with the line; a fork asks nobody."""
    session = await talk(host, "hello", "order", "A17", "bye")
    transcript = (await engine.sessions.transcript(session, limit=50)).entries
    lines = {entry.text.split()[0]: entry.number for entry in transcript}

    moment = (
        await rehearse(engine, await engine.sessions.get(session), line=lines["Which"])
    ).moment
    assert (moment.at.flow, moment.at.node) == ("order", "number")  # type: ignore[union-attr]
    assert moment.vars == {"visits": 1, "choice": "order"}
    assert [visit.node for visit in moment.path][-3:] == ["choice", "order", "number"]
    chosen = (
        await rehearse(engine, await engine.sessions.get(session), line=lines["order"])
    ).moment
    assert (chosen.changed, chosen.at.node) == (("choice",), "number")  # type: ignore[union-attr]

    whole = await rehearse(engine, await engine.sessions.get(session))
    assert (whole.status, whole.moment.line, whole.happened) == (Status.ENDED, len(transcript), ())
    assert await passes(holdfast_server, whole.test) == [(Verdict.PASSED, "")]

    steps = [{"say": "b 4"}, {"say": "B4"}, {"click": "bye"}]
    given = [{"call": "orders.find", "returns": {"id": "B4", "status": "packed"}}]
    fork = await rehearse(
        engine, await engine.sessions.get(session), line=lines["Which"], steps=steps, given=given
    )
    said = [one.payload["text"] for one in fork.happened]
    assert said[3] == "Order B4 is packed."
    assert (said[-1], fork.status, fork.moment.vars["choice"]) == ("Goodbye.", Status.ENDED, "bye")
    assert await passes(holdfast_server, fork.test) == [(Verdict.PASSED, "")]
    unfaked = await rehearse(
        engine, await engine.sessions.get(session), line=lines["Which"], steps=[{"say": "B4"}]
    )
    assert "no fake answers call orders.find" in unfaked.problem
    assert len((await engine.sessions.transcript(session, limit=50)).entries) == len(transcript)


async def test_what_cannot_be_rehearsed_is_refused(host: Host, engine: Engine) -> None:
    """With the field, or as a flow that is not there."""
    session = await talk(host, "hello")
    for steps in ([{"click": "nothing"}], [{"approve": "x"}], [{"sing": "la"}], [{"expect": "x"}]):
        with pytest.raises(InvalidInput) as refused:
            await rehearse(engine, await engine.sessions.get(session), steps=steps)
        assert refused.value.context["field"] == "steps"
    waiting = await rehearse(engine, await engine.sessions.get(session), steps=[{"advance": "2d"}])
    assert waiting.happened[-1].payload["text"].startswith("I am still here")
    await publish(engine)
    key = SessionKey(conversation="c", user="bob", endpoint=NAME)
    other = await engine.sessions.deliver(NAME, Activity(key=key, payload=b'{"text":"hi"}'))
    with pytest.raises(FlowNotFound):
        await rehearse(engine, await engine.sessions.get(other.session))

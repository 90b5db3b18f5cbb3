"""Messages to deployments over HTTP, answered by a host."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from holdfast.client import Client
from holdfast.engine import Engine, open_engine
from holdfast.host.builder import HostBuilder
from holdfast.host.deploying import shift, upload, wait_ready
from holdfast.model.activities import NewActivity, Reason
from holdfast.model.deployments import DeploymentRef
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from tests.support.hosting import shop

OURS = "ours"
REF = DeploymentRef(env="local", id="shop", tenant=OURS)


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock, with a host for everything."""
    async with open_engine(real_url) as opened, HostBuilder(opened).build().running():
        yield opened


@pytest.fixture
async def url(engine: Engine) -> AsyncIterator[str]:
    """A server of the engine, without keys."""
    async with serving(engine, ServerSettings(port=0)) as (_, where):
        yield where


def message(text: str, **fields: str) -> NewActivity:
    """A message of Ann."""
    payload = b'{"text":"%s"}' % text.encode()
    return NewActivity(tenant=OURS, conversation="c", user="ann", payload=payload, **fields)  # type: ignore[arg-type]


async def test_a_deployment_answers_over_http(engine: Engine, url: str) -> None:
    """As it does near: replies, sessions, explanations, repeated messages."""
    async with Client(url) as far:
        for revision in ("A", "B"):
            staged = await upload(far, shop(revision), REF)
            ready = await wait_ready(far, REF, staged.id)
            assert [gate.passed for gate in ready.gates] == [True, True]
            if revision == "A":
                first = ready
                await shift(far, REF, first.id)
        answer = await far.activities.handle(message("hi", id="m-1"))
        assert [reply.text for reply in answer.replies] == ["A: name?"]
        assert (answer.deployment, answer.revision, answer.done) == ("shop", first.id, True)
        assert await far.activities.handle(message("hi", id="m-1")) == answer
        explained = await far.deployments.explain(REF, answer.session)
        assert explained == await engine.deployments.explain(REF, answer.session)
        assert (explained.revision, explained.reason) == (first.id, Reason.WAIT)
        await shift(far, REF, ready.id)
        bye = await far.activities.handle(message("Ann"), deployment="shop")
        assert [reply.text for reply in bye.replies] == ["A: bye Ann"]
        tried = await far.activities.handle_for_revision(message("hi"), ready.id)
        assert [reply.text for reply in tried.replies] == ["B: name?"]


async def test_a_reply_is_an_activity_to_the_user(engine: Engine, url: str) -> None:
    """With the endpoint of the session: the deployment, unless the message names another."""
    async with httpx.AsyncClient(base_url=url) as http:
        staged = await upload(engine, shop("A"), REF)
        await wait_ready(engine, REF, staged.id)
        await shift(engine, REF, staged.id)
        activity = {"conversation": "c", "user": "ann", "payload": {"text": "hi"}}
        for endpoint in ("shop", "web"):
            given = activity if endpoint == "shop" else {**activity, "endpoint": endpoint}
            response = await http.post(
                f"/v1/envs/local/tenants/{OURS}/activities", json={"activity": given}
            )
            answer = response.json()
            assert (response.status_code, answer["state"]) == (200, "suspended")
            (reply,) = answer["replies"]
            assert (reply["endpoint"], reply["text"]) == (endpoint, "A: name?")
            assert reply["id"].startswith(answer["session"])


async def test_a_message_that_routing_answers_has_no_execution(engine: Engine, url: str) -> None:
    """Near and far, and when it is sent again; what was said is in the transcript."""
    rules = "[{when: \"input.text == 'hours'\", respond: At 8.}, {when: 'true', deny: Go away.}]"
    staged = await upload(engine, shop("A", head=f"routing: {{rules: {rules}}}\n"), REF)
    await wait_ready(engine, REF, staged.id)
    await shift(engine, REF, staged.id)
    async with Client(url) as far:
        denied = await far.activities.handle(message("hi", id="m-1"))
        assert (denied.state, denied.execution, denied.done) == ("denied", None, True)
        assert [reply.text for reply in denied.replies] == ["Go away."]
        assert await far.activities.handle(message("hi", id="m-1")) == denied
        assert await engine.activities.handle(message("hi", id="m-1")) == denied
        answered = await far.activities.handle(message("hours", id="m-2"))
        assert (answered.state, answered.execution) == ("responded", None)
    lines = (await engine.sessions.transcript(denied.session)).entries
    assert [line.text for line in lines] == ["hi", "Go away.", "hours", "At 8."]

"""Messages to deployments: they find their revision, their flow and their session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast.engine import Engine, open_engine
from holdfast.errors import (
    AmbiguousDeployment,
    AmbiguousFlow,
    DeploymentNotFound,
    FlowNotFound,
    RevisionDraining,
    RevisionNotFound,
    RevisionNotReady,
)
from holdfast.host.builder import HostBuilder
from holdfast.host.host import Host
from holdfast.host.packs import build, upload_of
from holdfast.model.activities import NewActivity, Reason
from holdfast.model.deployments import DeploymentRef, NewDeployment
from holdfast.model.packs import PackUpload
from holdfast.model.revisions import Lifecycle
from holdfast.model.sessions import TurnAnswer
from holdfast.store.valkey.wire import Command
from tests.support.fault_injection import before_calls, meanwhile
from tests.support.hosting import SHOP, reached, shift, shop, stage
from tests.support.packs import pack_of

JOB = "id: add\ntype: job\nnodes: {sum: {end: {result: '{{ input.a + input.b }}'}}}\n"
TALK = "id: talk\nnodes: {hi: {emit: {text: Talk.}, out: end}}\n"
MAIN = "id: main\nnodes: {hi: {emit: {text: Main.}, out: end}}\n"


@pytest.fixture
async def engine(real_url: str) -> AsyncIterator[Engine]:
    """An engine on the real clock."""
    async with open_engine(real_url) as opened:
        yield opened


@pytest.fixture
async def host(engine: Engine) -> AsyncIterator[Host]:
    """A host for everything."""
    async with HostBuilder(engine).work(lease_ms=5_000).build().running() as running:
        yield running


def message(text: str, user: str = "ann", **fields: Any) -> NewActivity:
    """A message of a user."""
    return NewActivity(
        conversation="c", user=user, payload=b'{"text":"%s"}' % text.encode(), **fields
    )


def texts(answer: TurnAnswer) -> list[str]:
    """The replies."""
    return [entry.text for entry in answer.replies]


async def serve(engine: Engine, revision: str, word: str) -> None:
    """Ship a revision, and route to it."""
    await stage(engine, revision, shop(word))
    await reached(engine, revision, Lifecycle.READY)
    await shift(engine, revision)


async def reason(engine: Engine, session: str) -> tuple[str | None, str]:
    """Where the next message would go, and why."""
    explained = await engine.deployments.explain(SHOP, session)
    return explained.revision, explained.reason


async def test_a_session_stays_where_it_waits_and_starts_where_the_split_says(
    host: Host, engine: Engine
) -> None:
    """A pin does not outlive the weight of its revision."""
    await serve(engine, "a", "A")
    first = await host.handle_activity(message("hi"))
    assert (texts(first), first.revision, first.deployment) == (["A: name?"], "a", "shop")
    assert await reason(engine, first.session) == ("a", Reason.WAIT)
    await serve(engine, "b", "B")
    assert texts(await host.handle_activity(message("Ann"))) == ["A: bye Ann"]
    assert await reason(engine, first.session) == ("b", Reason.WEIGHTS)
    again = await host.handle_activity(message("hi", id="m-1"))
    assert (texts(again), again.revision) == (["B: name?"], "b")
    assert await host.handle_activity(message("hi", id="m-1")) == again
    assert texts(await host.handle_activity(message("Ann"))) == ["B: bye Ann"]
    assert await reason(engine, first.session) == ("b", Reason.PIN)


async def test_a_revision_that_begins_to_drain_is_chosen_again_once(
    host: Host, engine: Engine
) -> None:
    """The message is not lost: the next choice is made from the deployment as it is then."""
    await serve(engine, "a", "A")
    await stage(engine, "b", shop("B"))
    await reached(engine, "b", Lifecycle.READY)

    async def move() -> None:
        await shift(engine, "b")
        await engine.deployments.drain(SHOP, "a")

    with meanwhile(engine.store.client, "hf_session_deliver", move):
        answer = await host.handle_activity(message("hi"))
    assert (texts(answer), answer.revision) == (["B: name?"], "b")
    await engine.store.needs.close("default", "b")
    with pytest.raises(RevisionDraining):
        await host.handle_activity(message("hi", user="ben"))


async def test_a_message_follows_one_snapshot(host: Host, engine: Engine) -> None:
    """The deployment is read once: what changes meanwhile is for the next message."""
    await serve(engine, "a", "A")
    await stage(engine, "b", _pack(TALK))
    await reached(engine, "b", Lifecycle.READY)
    reads = 0

    async def count(command: Command) -> None:
        nonlocal reads
        reads += command[1] in {"hf_deployment_describe", "hf_deployment_list"}

    async def move() -> None:
        await shift(engine, "b")

    with meanwhile(engine.store.client, "hf_pin_try", move):
        # The flow `main` is one of a, and not of b.
        first = await host.handle_activity(message("hi", flow="main"))
    assert (texts(first), first.revision) == (["A: name?"], "a")
    with before_calls(engine.store.client, count):
        later = await host.handle_activity(message("hi", user="ben"))
    assert (texts(later), later.revision, reads) == (["Talk."], "b", 1)


async def test_a_revision_can_be_tried_before_the_split_routes_to_it(
    host: Host, engine: Engine
) -> None:
    """Its conversations stay on it; nothing is pinned."""
    await stage(engine, "a", shop("A"))
    await reached(engine, "a", Lifecycle.READY)
    with pytest.raises(RevisionNotReady, match="routes to no revision"):
        await host.handle_activity(message("hi"))
    tried = await host.handle_activity_for_revision(message("hi"), "a")
    assert texts(tried) == ["A: name?"]
    assert texts(await host.handle_activity(message("Ann"))) == ["A: bye Ann"]
    with pytest.raises(RevisionNotFound):
        await host.handle_activity_for_revision(message("hi"), "b")
    await engine.deployments.drain(SHOP, "a")
    with pytest.raises(RevisionNotReady, match="is not ready"):
        await host.handle_activity_for_revision(message("hi"), "a")


async def test_missing_and_ambiguous_are_different(host: Host, engine: Engine) -> None:
    """For deployments and for flows."""
    with pytest.raises(DeploymentNotFound, match="has no deployment"):
        await host.handle_activity(message("hi", tenant="nobody"))
    await stage(engine, "a", _pack(MAIN, TALK, JOB))
    await reached(engine, "a", Lifecycle.READY)
    await shift(engine, "a")
    with pytest.raises(DeploymentNotFound):
        await host.handle_activity(message("hi"), deployment="other")
    with pytest.raises(AmbiguousFlow):
        await host.handle_activity(message("hi"))
    with pytest.raises(FlowNotFound, match="did you mean `talk`"):
        await host.handle_activity(message("hi", flow="talkk"))
    assert texts(await host.handle_activity(message("hi", flow="talk"))) == ["Talk."]
    assert texts(await host.handle_activity(message("hi", pack="shop", flow="main"))) == ["Main."]
    await engine.deployments.create(
        NewDeployment(env="local", id="other", tenant="default", pack="shop")
    )
    with pytest.raises(AmbiguousDeployment, match="several"):
        await host.handle_activity(message("hi"))
    named = await host.handle_activity(message("hi", flow="talk"), deployment="shop")
    assert texts(named) == ["Talk."]


async def test_a_flow_without_a_conversation_runs_once_for_each_activity(
    host: Host, engine: Engine
) -> None:
    """It runs on the chosen revision; there are no replies."""
    await stage(engine, "a", _pack(MAIN, JOB))
    await reached(engine, "a", Lifecycle.READY)
    await shift(engine, "a")
    job = NewActivity(
        conversation="c", user="u", payload=b'{"a": 2, "b": 3}', kind="event", flow_type="job"
    )
    assert NewActivity(conversation="c", user="u", payload=b"{}", action="go").content == (
        b'{"action":"go"}'
    )
    answer = await host.handle_activity(job)
    assert (answer.state, answer.replies, answer.revision) == ("completed", (), "a")
    assert answer.execution is not None
    assert b"5" in await engine.result(answer.execution)
    assert (await host.handle_activity(job)).execution == answer.execution


async def test_two_tenants_have_a_pack_of_the_same_id(host: Host, engine: Engine) -> None:
    """Each gets its own."""
    theirs = DeploymentRef(env="local", id="shop", tenant="theirs")
    await serve(engine, "a", "A")
    await stage(engine, "t", shop("T"), theirs)
    await reached(engine, "t", Lifecycle.READY, theirs)
    await shift(engine, "t", theirs)
    assert texts(await host.handle_activity(message("hi"))) == ["A: name?"]
    assert texts(await host.handle_activity(message("hi", tenant="theirs"))) == ["T: name?"]


def _pack(*flows: str) -> PackUpload:
    files = {"pack.yaml": b"id: shop\nversion: 1.0.0\n"}
    for number, text in enumerate(flows):
        files[f"flows/f{number}.yaml"] = text.encode()
    return upload_of(build(pack_of(files)))

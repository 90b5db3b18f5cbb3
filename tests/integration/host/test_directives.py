"""The routing of a pack: it continues, dispatches, responds or denies, once for each message."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from holdfast import App
from holdfast.engine import open_engine
from holdfast.errors import InvalidPack
from holdfast.host.builder import HostBuilder
from holdfast.host.flows.declaring import APOLOGY
from holdfast.host.flows.runners import Answer, ComponentCall, NodeFailed, Runners
from holdfast.host.loading import LoadedPack, declare_pack
from holdfast.host.packs import Pack, build, bundle, upload_of
from holdfast.model.activities import NewActivity
from holdfast.model.revisions import Lifecycle
from holdfast.testing import Talk, conversation
from holdfast.testing.conversations import crash_every_line
from holdfast.testing.servers import TestServer
from tests.support.hosting import reached, shift, stage
from tests.support.packs import pack_of

Route = Callable[[ComponentCall], Awaitable[Any]]

MAIN = "id: main\nnodes: {hi: {emit: {text: Main.}}}\n"
ORDERS = """\
id: orders
internal: true
nodes:
  hi: {emit: {text: "Order {{ input.entities.number | default('?') }}."}, out: more}
  more: {wait: {}, out: bye}
  bye: {emit: {text: "Bye {{ input.text }}."}}
"""
EXTRA = "id: extra\nnodes: {hi: {emit: {text: Extra.}}}\n"
JOB = "id: job\ntype: job\nnodes: {a: {set: {}}}\n"
WELCOME = "id: welcome\ninternal: true\nnodes: {hi: {emit: {text: Welcome.}}}\n"
RULES = """\
entry: main
routing:
  rules:
    - when: "input.text.startsWith('order')"
      dispatch: orders
      entities: {number: "{{ input.text.split(' ')[1] }}"}
    - {when: "input.text == 'extra'", dispatch: more/extra}
    - {when: "input.text == 'hours'", respond: "Open at 8, {{ user.id }}."}
    - {when: "user.id == 'eve'", deny: "You are blocked."}
"""
COMPONENT = """\
entry: main
components:
  mind: {{kind: http, source: "https://a.example.org", operations: [route]}}
routing: {{component: mind, budget_ms: {budget}, on_error: {on_error}}}
"""


def made(head: str, *flows: str, pack_id: str = "shop") -> Pack:
    """Return a pack with flows."""
    files = {"pack.yaml": f"id: {pack_id}\nversion: 1.0.0\n{head}".encode()}
    for number, text in enumerate(flows):
        files[f"flows/f{number}.yaml"] = text.encode()
    return pack_of(files)


def declared(app: App, head: str, route: Route | None = None) -> LoadedPack:
    """Declare a pack with an overlay."""
    main = made(head, MAIN, ORDERS, JOB, WELCOME)
    packs = bundle(main, [made("", EXTRA, pack_id="more")])
    return declare_pack(app, packs, Runners(call=route))


@contextlib.asynccontextmanager
async def talking(
    server: TestServer, head: str = RULES, route: Route | None = None, user: str = "ann"
) -> AsyncIterator[Talk]:
    """Talk with the entry of a pack."""
    app = App()
    kind = declared(app, head, route).conversation()
    async with conversation(app, kind, server=server, user=user) as talk:
        yield talk


def answering(answer: Any) -> Route:
    """Return a component that always says the same."""

    async def route(call: ComponentCall) -> Any:
        assert call.operation == "route"
        if isinstance(answer, Exception):
            raise answer
        return answer

    return route


async def test_a_rule_decides_about_each_message_that_starts_a_conversation(
    single_server: TestServer,
) -> None:
    """The first that fits; a conversation that waits gets its message whatever the rules say."""
    async with talking(single_server) as talk:
        await talk.say("hi")
        await talk.expect("Main.")
        await talk.say("extra")
        await talk.expect("Extra.")
        await talk.say("hours")
        await talk.expect("Open at 8, ann.")
        await talk.say("order 17")
        await talk.expect("Order 17.")
        await talk.say("hours")
        await talk.expect("Bye hours.")


async def test_a_denied_message_runs_no_flow(single_server: TestServer) -> None:
    """The user reads why; the reply says which directive wrote it."""
    async with talking(single_server, RULES + "welcome: welcome\n", user="eve") as talk:
        await talk.say("hi")
        await talk.expect("You are blocked.")
        reply = (await talk.entries(after=0))[-1]
        assert msgspec.json.decode(reply.payload)["data"] == {"directive": "deny"}
        assert reply.execution is not None
        (step, *_) = await talk.test.engine.steps(reply.execution)
        assert (step.name, msgspec.json.decode(step.result)) == (
            "routing",
            {"act": "deny", "text": "You are blocked.", "by": "rule 4"},
        )


async def test_a_new_user_is_welcomed_unless_the_message_is_answered(
    single_server: TestServer,
) -> None:
    """An answer does not use the welcome up."""
    async with talking(single_server, RULES + "welcome: welcome\n") as talk:
        await talk.say("hours")
        await talk.expect("Open at 8, ann.")
        await talk.say("order 1")
        await talk.expect("Welcome.")
        await talk.say("hi")
        await talk.expect("Main.")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "Main."),
        ({"continue": True}, "Main."),
        ({"dispatch": "orders", "entities": {"number": 5}}, "Order 5."),
        ({"dispatch": "more/extra"}, "Extra."),
        ({"respond": "Hello."}, "Hello."),
        ({"deny": "No."}, "No."),
    ],
)
async def test_a_component_decides_if_no_rule_does(
    single_server: TestServer, answer: Any, said: str
) -> None:
    """It says what rules say."""
    head = COMPONENT.format(budget=2_000, on_error="fail")
    async with talking(single_server, head, answering(answer)) as talk:
        await talk.say("hi")
        await talk.expect(said)


async def _slow(call: ComponentCall) -> Any:
    assert call.about.timeout_ms <= 20
    await asyncio.Event().wait()


BAD: list[Route] = [
    _slow,
    answering({"dispatch": "nowhere"}),
    answering({"dispatch": "shop/extra"}),
    answering({"dispatch": "job"}),
    answering({"dispatch": "orders", "entities": [1]}),
    answering({"respond": " "}),
    answering({"respond": "a", "deny": "b"}),
    answering({"continue": False}),
    answering("main"),
    answering(Answer(None, [{"text": "psst"}])),
    answering(NodeFailed("broken", "it broke")),
    answering(ZeroDivisionError()),
]


@pytest.mark.parametrize("on_error", ["continue", "fail"])
async def test_a_failure_follows_the_stated_rule(single_server: TestServer, on_error: str) -> None:
    """Too slow, wrong or broken: the message continues, or fails with an apology."""
    calls = iter(BAD)

    async def route(call: ComponentCall) -> Any:
        return await next(calls)(call)

    head = COMPONENT.format(budget=20, on_error=on_error)
    async with talking(single_server, head, route) as talk:
        for _ in BAD:
            await talk.say("hi")
            await talk.expect("Main." if on_error == "continue" else APOLOGY)
        last = (await talk.entries(after=0))[-1]
        (step, *_) = await talk.test.engine.steps(str(last.execution))
        assert msgspec.json.decode(step.result) == {
            "act": "continue",
            "failure": "routing failed (ZeroDivisionError)",
        }


async def test_a_crash_does_not_decide_again(single_server: TestServer) -> None:
    """A worker killed after any write leaves the same transcript: the decision is recorded."""
    calls: list[str] = []

    async def route(call: ComponentCall) -> Any:
        calls.append(call.about.idempotency_key)
        return {"dispatch": "orders", "entities": {"number": len(calls)}}

    async def script(talk: Talk) -> None:
        calls.clear()
        await talk.say("hi")
        await talk.say("now")

    app = App()
    kind = declared(app, COMPONENT.format(budget=5_000, on_error="fail"), route).conversation()
    lines = await crash_every_line(app, kind, script, server=single_server, kept=0)
    assert [line.payload["text"] for line in lines if line.who == "bot"] == ["Order 1.", "Bye now."]


async def test_a_component_that_hangs_is_cut_off(real_url: str) -> None:
    """On a host, with a real component: the message continues, and the next one is routed."""
    head = """\
components: {mind: {kind: python, source: components/mind.py, operations: [route]}}
routing: {component: mind, budget_ms: 1500}
"""
    code = """\
import time

def route(input, host):
    if input["input"]["text"] == "slow":
        time.sleep(60)
    return {"respond": "Hello " + input["user"]["id"] + "."}
"""
    files = {
        "pack.yaml": f"id: shop\nversion: 1.0.0\n{head}".encode(),
        "flows/main.yaml": MAIN.encode(),
        "components/mind.py": code.encode(),
    }
    upload = upload_of(build(pack_of(files)))
    async with (
        open_engine(real_url) as engine,
        HostBuilder(engine).policy(trusted=True).build().running() as host,
    ):
        await stage(engine, "a", upload)
        await reached(engine, "a", Lifecycle.READY)
        await shift(engine, "a")
        for text, said in (("hi", "Hello ann."), ("slow", "Main."), ("hi", "Hello ann.")):
            payload = b'{"text":"%s"}' % text.encode()
            activity = NewActivity(conversation="c", user="ann", payload=payload)
            answer = await host.handle_activity(activity)
            assert [reply.text for reply in answer.replies] == [said]


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("routing: {rules: [{when: 'true', dispatch: nowhere}]}\n", "flow `nowhere`"),
        ("routing: {rules: [{when: 'true', dispatch: more/lost}]}\n", "no flow `more/lost`"),
        ("routing: {rules: [{when: 'true', dispatch: shop/extra}]}\n", "`extra`"),
        (
            "routing: {rules: [{when: 'true', dispatch: job}]}\n",
            "must be a flow that has a conversation",
        ),
        ("routing: {rules: [{when: 'vars.a', deny: x}]}\n", "not in scope of a rule"),
        ("routing: {rules: [{when: 'true', deny: '{{ prev }}'}]}\n", "not in scope of a rule"),
        ("entry: job\nrouting: {}\n", "needs an `entry` that is a conversation"),
    ],
)
def test_routing_that_leads_nowhere_is_refused_when_a_pack_is_loaded(head: str, words: str) -> None:
    """Not when the first message comes."""
    with pytest.raises(InvalidPack, match=words):
        declared(App(), head if head.startswith("entry") else f"entry: main\n{head}")


def test_a_component_that_routes_has_the_operation() -> None:
    """Which the host calls."""
    head = COMPONENT.format(budget=5, on_error="fail").replace("[route]", "[other]")
    with pytest.raises(InvalidPack, match="`mind` has no operation `route`"):
        declared(App(), head)

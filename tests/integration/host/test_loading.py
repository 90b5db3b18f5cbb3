"""Packs as conversations and jobs of an app."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import App
from holdfast.errors import FlowNotFound, InvalidPack
from holdfast.host.flows.declaring import APOLOGY
from holdfast.host.flows.runners import Runners
from holdfast.host.loading import LoadedPack, declare_pack
from holdfast.host.packs import Pack, bundle
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Busy
from holdfast.testing import Talk, conversation
from holdfast.testing.app import TestApp
from holdfast.testing.servers import TestServer
from tests.support.packs import pack_of

MAIN = "id: main\nnodes: {hi: {emit: {text: Hi.}, out: wait}, wait: {wait: {}, out: hi}}\n"
WELCOME = """\
id: welcome
internal: true
nodes:
  hello: {emit: {text: "Welcome, {{ input.text }}."}, out: more}
  more: {goto: {flow: main}}
"""
JOB = "id: add\ntype: job\nnodes: {sum: {end: {result: '{{ input.a + input.b }}'}}}\n"


def made(head: str = "", *flows: str, pack_id: str = "shop") -> Pack:
    """Return a pack with flows."""
    files = {"pack.yaml": f"id: {pack_id}\nversion: 1.0.0\n{head}".encode()}
    for number, text in enumerate(flows):
        files[f"flows/f{number}.yaml"] = text.encode()
    return pack_of(files)


def loaded(*packs: Pack, app: App | None = None, runners: Runners | None = None) -> LoadedPack:
    """Declare packs in an app."""
    return declare_pack(app or App(), bundle(packs[0], packs[1:]), runners or Runners())


@contextlib.asynccontextmanager
async def talking(server: TestServer, *packs: Pack) -> AsyncIterator[Talk]:
    """Talk with the entry of a pack."""
    app = App()
    kind = loaded(*packs, app=app).conversation()
    async with conversation(app, kind, server=server, user="ann") as talk:
        yield talk


def test_entry_flows_are_declared_under_the_names_of_pack_and_flow() -> None:
    """Conversations, or tasks for flows without one; internal flows are neither."""
    app = App()
    pack = loaded(
        made("entry: main\nwelcome: welcome\nbusy: merge\nrequires: [gpu]\n", MAIN, WELCOME, JOB),
        app=app,
    )
    assert sorted(app.tasks) == ["shop:add", "shop:main"]
    assert pack.conversation().name == "shop:main"
    assert pack.conversation().busy is Busy.MERGE
    assert pack.resolve(flow="add").name == "shop:add"
    described = [task.describe()["options"]["requires"] for task in app.tasks.values()]
    assert described == [("gpu",)] * 2
    with pytest.raises(FlowNotFound, match="`add` is a job"):
        pack.conversation("add")
    with pytest.raises(FlowNotFound, match="no flow `welcome`"):
        pack.conversation("welcome")


def test_names_of_two_packs_are_never_the_same() -> None:
    """A dot in an id belongs to that id."""
    first, second = MAIN.replace("id: main", "id: b.c"), MAIN.replace("id: main", "id: c")
    app = App()
    loaded(made("", first, pack_id="a"), made("", second, pack_id="a.b"), app=app)
    assert sorted(app.tasks) == ["a.b:c", "a:b.c"]


def test_overlays_add_flows_that_use_what_is_theirs() -> None:
    """Components are shared; secrets and hosts are those of their own pack."""
    web = """\
id: web
internal: true
nodes:
  get: {http: {method: GET, url: "https://a.example.org/x", headers: {Key: {secret: k}}}}
"""
    head = "http_allow: [a.example.org]\nsecrets: [k]\n"
    calling = "id: main\nnodes: {a: {flow: {flow: web}}}\n"

    async def http(call: Any) -> Any:
        return call

    runners = Runners(http=http)
    pack = loaded(made("", calling), made(head, web, pack_id="extra"), runners=runners)
    assert pack.flows.flows.keys() == {"main", "web"}
    with pytest.raises(InvalidPack) as raised:
        loaded(made(head, calling), made("", web, pack_id="extra"), runners=runners)
    assert raised.value.context["problem"] in {"host_not_allowed", "unknown_secret"}


def test_schedules_belong_to_jobs() -> None:
    """A conversation has nobody to talk with by the clock."""
    plan = "schedules: [{{flow: {0}, cron: '0 8 * * 1', timezone: Europe/Berlin}}]\n"
    app = App()
    loaded(made("entry: add\n" + plan.format("add"), JOB), app=app)
    assert [*app.schedules] == ["shop:add:0"]
    with pytest.raises(InvalidPack, match="is no job that can have one"):
        loaded(made(plan.format("main"), MAIN))


def test_what_a_host_cannot_run_is_refused_when_a_pack_is_loaded() -> None:
    """Not in the middle of a conversation."""
    calling = "id: main\nnodes: {a: {call: {component: orders, operation: find}}}\n"
    head = "components: {orders: {kind: http, source: 'https://a.org', operations: [find]}}\n"
    with pytest.raises(InvalidPack, match="does not run `call` nodes"):
        loaded(made(head, calling))


def test_ids_that_are_too_long_together_are_refused() -> None:
    """The name of a task has a bound."""
    with pytest.raises(InvalidPack, match="more than 127 characters together"):
        loaded(made("", MAIN.replace("id: main", f"id: {'b' * 60}"), pack_id="a" * 90))


def test_the_budgets_of_llm_nodes_pay_for_the_flows_that_lead_to_them() -> None:
    """By sub-flows, by routing, and in the welcome; not those that a template names."""
    node = "llm: {{model: small, max_tokens: 5, budget: {1}}}"
    model = f"id: {{0}}\ninternal: true\nnodes: {{{{a: {{{{{node}}}}}}}}}\n"
    flows = [
        "id: main\nnodes: {a: {flow: {flow: inner}, out: b}, b: {goto: {flow: other}}}\n",
        "id: second\nnodes: {a: {emit: {text: Hi.}}}\n",
        "id: job\ntype: job\nnodes: {a: {llm: {model: small, max_tokens: 5, budget: nightly}}}\n",
        model.format("inner", "team"),
        model.format("other", "'{{ tenant }}'"),
        model.format("greeting", "welcomes"),
        model.format("routed", "routes"),
        model.format("unused", "unused"),
    ]
    head = (
        "entry: main\nwelcome: greeting\nsecrets: [K]\n"
        "models: {small: {base_url: 'https://a.org', model: m, key_secret: K}}\n"
    )
    rules = "routing: {rules: [{when: 'true', dispatch: routed}]}\n"

    async def llm(call: Any) -> Any:
        return call

    def budgets(head: str) -> dict[str, tuple[str, ...]]:
        app = App()
        loaded(made(head, *flows), app=app, runners=Runners(llm=llm))
        return {name: task.template.budgets for name, task in app.tasks.items()}

    assert budgets(head) == {
        "shop:main": ("team", "welcomes"),
        "shop:second": ("welcomes",),
        "shop:job": ("nightly",),
    }
    assert budgets(head + rules)["shop:main"] == ("routes", "team", "welcomes")


async def test_a_new_user_is_welcomed_once(single_server: TestServer) -> None:
    """Then every conversation of the session begins with the usual flow."""
    ending = MAIN.replace("out: hi}", "out: bye}, bye: {emit: {text: Bye.}}")
    async with talking(
        single_server, made("entry: main\nwelcome: welcome\n", ending, WELCOME)
    ) as talk:
        await talk.say("Ann")
        await talk.expect("Welcome, Ann.", "Hi.")
        await talk.say("bye")
        await talk.expect("Bye.")
        await talk.say("again")
        await talk.expect("Hi.")


async def test_a_welcome_that_failed_comes_again(single_server: TestServer) -> None:
    """The marker is written with the turn that ran it."""
    failing = WELCOME.replace("input.text", "input.name")
    async with talking(
        single_server, made("entry: main\nwelcome: welcome\n", MAIN, failing)
    ) as talk:
        await talk.say("Ann")
        await talk.expect(APOLOGY)
        await talk.say(payload={"text": "Ann", "name": "Ann"})
        await talk.expect("Welcome, Ann.", "Hi.")


async def test_a_job_returns_its_result(single_server: TestServer) -> None:
    """It is a task of the app."""
    app = App()
    task = loaded(made("entry: add\n", JOB), app=app).resolve()
    async with TestApp(app, server=single_server) as test:
        assert await test.run(task, input={"a": 1, "b": 2}) == {"result": 3, "replies": []}


async def test_a_message_resumes_what_waits_whatever_flow_it_names(
    single_server: TestServer,
) -> None:
    """Neither the flow that it names nor the welcome flow replaces a conversation that waits."""
    app = App()
    helping = "id: help\nnodes: {a: {emit: {text: Help.}, out: b}, b: {wait: {}, out: a}}\n"
    pack = loaded(made("entry: main\nwelcome: welcome\n", MAIN, WELCOME, helping), app=app)
    async with TestApp(app, server=single_server) as test:
        key = SessionKey(conversation="c", endpoint="web", user="ann")
        talks = [Talk(test, pack.conversation(flow), key) for flow in ("help", "main")]
        for task in app.tasks.values():
            await test.engine.tasks.publish({task.name: task.describe()})
        await talks[0].say("Ann")
        await talks[1].say("more")
        await talks[0].say("help")
        await talks[0].expect("Welcome, Ann.", "Hi.", "Hi.", "Hi.")


async def test_welcomes_are_those_of_an_endpoint_and_a_user(single_server: TestServer) -> None:
    """Another user, or the same one elsewhere, is welcomed; not so in another conversation."""
    app = App()
    kind = loaded(made("entry: main\nwelcome: welcome\n", MAIN, WELCOME), app=app).conversation()
    async with TestApp(app, server=single_server) as test:
        await test.engine.tasks.publish({kind.name: kind.describe()})
        for endpoint, user in (("web", "ann"), ("mail", "ann"), ("web", "bob")):
            key = SessionKey(conversation="c", endpoint=endpoint, user=user)
            talk = Talk(test, kind, key)
            await talk.say(user)
            await talk.expect(f"Welcome, {user}.", "Hi.")
            await talk.say(user)
            await talk.expect("Hi.")
        talk = Talk(test, kind, SessionKey(conversation="other", endpoint="web", user="ann"))
        await talk.say("ann")
        await talk.expect("Hi.")


def test_two_revisions_of_a_pack_share_nothing() -> None:
    """What is known of a flow lives with the pack that it was read from."""
    old = loaded(made("", MAIN))
    new = loaded(made("", MAIN.replace("Hi.", "Hello.")))
    texts = [pack.flows.flows["main"].nodes["hi"].node.value["emit"]["text"] for pack in (old, new)]
    assert texts == ["Hi.", "Hello."]

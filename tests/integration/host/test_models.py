"""`llm` nodes on a real store: streams, replies, budgets, crashes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import App
from holdfast.host.flows.declaring import declare_flow, declare_job
from holdfast.host.flows.interpreter import Flows
from holdfast.host.flows.lint import lint_files
from holdfast.host.flows.runners import ComponentCall, Runners
from holdfast.host.models import ModelNodes
from holdfast.host.vault import Vault
from holdfast.host.web import Web
from holdfast.testing import Talk, TestApp, conversation, crash_every_line
from holdfast.testing.servers import TestServer
from tests.support.models import Keeper, Models, bundle_of, text, tools

REPLY = """
id: main
type: messaging
nodes:
  think:
    llm: {model: small, max_tokens: 50, tools: [orders.find], reply: true, budget: team}
    retry: {max_attempts: 2, initial_ms: 1}
    on_error: sorry
    out: more
  more: {emit: {text: "Used {{ nodes.think.usage.total_tokens }}."}, out: again}
  again: {wait: {}, out: think}
  sorry: {emit: {text: "{{ prev.error.code }}"}, out: again}
"""
JOB = """
id: main
type: job
nodes:
  think: {llm: {model: small, max_tokens: 50, messages: [{role: user, content: hi}]}, out: done}
  done: {end: {result: "{{ prev.text }}"}}
"""


async def _tool(call: ComponentCall) -> Any:
    return {"id": call.input["id"], "status": "sent"}


@contextlib.asynccontextmanager
async def _flows(models: Models, flow: str) -> AsyncIterator[Flows]:
    async with models.serving():
        client = Web(allow_private=[f"127.0.0.1:{models.port}"])
        nodes = ModelNodes(bundle_of(models.port, flow), client, Vault(Keeper()), _tool)
        found, problems = lint_files({"main.yaml": flow})
        assert problems == []
        try:
            yield Flows(found, Runners(llm=nodes, call=_tool))
        finally:
            await client.close()


def _app(flows: Flows, tokens: int) -> tuple[App, Any]:
    app = App()
    app.budget("team", tokens=tokens)
    return app, declare_flow(app, flows, "main", budgets=["team"])


async def test_an_answer_is_a_reply_that_grows(single_server: TestServer) -> None:
    """Readers see it word by word; the transcript has it once, and the budget is charged."""
    models = Models(tools(("orders_find", '{"id": "A1"}'), usage=20), text("It ", "is ", "sent."))
    async with _flows(models, REPLY) as flows:
        app, kind = _app(flows, 1_000)
        async with conversation(app, kind, server=single_server, user="ann") as talk:
            await talk.say("where is A1?")
            await talk.expect("It is sent.", "Used 30.")
            engine = talk.test.engine
            budget = await engine.budgets.get("team")
            assert budget.usage == {"tokens": 30, "calls": 2}
            assert not any(budget.reserved.values())
            execution = (await talk.session()).execution
            frames = (await engine.streams.read(str(execution))).frames
    words = [frame.json()["text"] for frame in frames if frame.type == "reply"]
    assert words == ["It ", "is ", "sent."]


async def test_a_retry_begins_the_reply_again(single_server: TestServer) -> None:
    """Words of an attempt that broke off are not in the transcript."""
    models = Models([{"choices": [{"delta": {"content": "Wro"}}]}], text("Right."))
    async with _flows(models, REPLY) as flows:
        app, kind = _app(flows, 1_000)
        async with conversation(app, kind, server=single_server, user="ann") as talk:
            await talk.say("hi")
            await talk.expect("Right.", "Used 10.")


async def test_a_hard_limit_is_a_failure_of_the_node(single_server: TestServer) -> None:
    """The flow handles it, and the model was not asked."""
    models = Models(text("hi"))
    async with _flows(models, REPLY) as flows:
        app, kind = _app(flows, 20)
        async with conversation(app, kind, server=single_server, user="ann") as talk:
            await talk.say("hi")
            await talk.expect("...", "budget_exceeded")
    assert models.requests == []


async def test_crashes_change_no_answer(single_server: TestServer) -> None:
    """After a crash the recorded outcome is used; a transcript is the same as without."""
    models = Models(text("Hello ", "there."))

    async def script(talk: Talk) -> None:
        for number, line in enumerate(["hi", "again"]):
            await talk.say(line, key=f"m{number}")

    async with _flows(models, REPLY) as flows:
        app, kind = _app(flows, 100_000)
        await crash_every_line(app, kind, script, server=single_server)


async def test_a_job_streams_text(single_server: TestServer) -> None:
    """Without a reply, words are frames of the execution's stream."""
    models = Models(text("Hel", "lo"))
    async with _flows(models, JOB) as flows:
        app = App()
        job = declare_job(app, flows, "main")
        async with TestApp(app, server=single_server) as test:
            handle = await job.submit(input={})
            await test.run_until_idle()
            assert (await handle.result())["result"] == "Hello"
            frames = (await test.engine.streams.read(handle.id)).frames
    assert [frame.text for frame in frames if frame.type == "text"] == ["Hel", "lo"]


@pytest.mark.parametrize("branch", ["parallel", "each"])
async def test_branches_ask_models_too(single_server: TestServer, branch: str) -> None:
    """An answer of a branch that is a reply is said when the branch has ended."""
    ask = "id: ask\ntype: messaging\ninternal: true\nnodes:\n"
    ask += "  think: {llm: {model: small, max_tokens: 9, reply: true, messages: []}}\n"
    actions = {
        "parallel": "{parallel: {branches: {a: {flow: {flow: ask}}}}}",
        "each": "{each: {items: [1], do: {flow: {flow: ask}}}}",
    }
    main = f"id: main\ntype: messaging\nnodes:\n  all: {actions[branch]}\n"
    models = Models(text("Hello."))
    async with models.serving():
        client = Web(allow_private=[f"127.0.0.1:{models.port}"])
        nodes = ModelNodes(bundle_of(models.port, main, **{"flows/ask.yaml": ask}), client,
                           Vault(Keeper()))  # fmt: skip
        found, _ = lint_files({"main.yaml": main, "ask.yaml": ask})
        app = App()
        kind = declare_flow(app, Flows(found, Runners(llm=nodes)), "main")
        async with conversation(app, kind, server=single_server, user="ann") as talk:
            await talk.say("hi")
            await talk.expect("Hello.")
        await client.close()

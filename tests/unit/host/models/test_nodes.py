"""`llm` nodes against a model server: streaming, tools, budgets, and what can go wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import BudgetExceeded, InvalidPack
from holdfast.host.flows.runners import Answer, ComponentCall, Invocation, ModelCall, NodeFailed
from holdfast.host.models import ModelNodes
from holdfast.host.models import answers as limits
from holdfast.host.vault import Vault
from holdfast.host.web import Web
from holdfast.worker.budget import Reserved
from tests.support.models import KEY, Keeper, Models, bundle_of, text, tools

FLOW = "id: main\ntype: messaging\nnodes: {hi: {emit: {text: hi}}}\n"
ABOUT = Invocation(execution="e", tenant="acme", env="prod", flow="main", node="think",
                   idempotency_key="key", timeout_ms=5_000)  # fmt: skip


class Wallet:
    """A budget that remembers what was reserved and settled."""

    def __init__(self, most: int = 10**9) -> None:
        self.most = most
        self.reserved: list[int] = []
        self.charged: list[int] = []

    @contextlib.asynccontextmanager
    async def reserve(
        self, amounts: Mapping[str, int], budget: str | None, ttl_ms: int
    ) -> AsyncIterator[Reserved]:
        """Reserve, and charge as budgets do."""
        assert ttl_ms == ABOUT.timeout_ms
        if sum(self.charged) + amounts["tokens"] > self.most:
            raise BudgetExceeded("no tokens left", budget=budget, dimension="tokens", limit=1)
        self.reserved.append(amounts["tokens"])
        reserved = Reserved(dict(amounts))
        try:
            yield reserved
        except BaseException:
            self.charged.append((reserved.used or {"tokens": 0})["tokens"])
            raise
        self.charged.append((reserved.used or dict(amounts))["tokens"])


class Asking:
    """Asks the model of a server."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self.wallet = Wallet()
        self.shown: list[str] = []
        self.begun = asyncio.Event()
        self.calls: list[ComponentCall] = []
        self.outputs: list[Any] = []
        self.files: dict[str, str] = {}

    async def show(self, words: str) -> None:
        """Remember what was shown."""
        self.shown.append(words)
        self.begun.set()

    async def tool(self, call: ComponentCall) -> Any:
        """Answer a call of a tool."""
        self.calls.append(call)
        output = self.outputs.pop(0) if self.outputs else {"status": "sent"}
        if isinstance(output, Exception):
            raise output
        return output

    async def __call__(self, **changes: Any) -> Any:
        """Ask."""
        call = ModelCall(
            model="small",
            system="Be short.",
            messages=[{"role": "user", "content": "hi"}],
            tools=(),
            max_tokens=100,
            budget=None,
            about=ABOUT,
            show=self.show,
            reserve=self.wallet.reserve,
        )
        client = Web(allow_private=[f"127.0.0.1:{self.models.port}"])
        bundle = bundle_of(self.models.port, FLOW, **self.files)
        nodes = ModelNodes(bundle, client, Vault(Keeper()), self.tool)
        try:
            return await nodes(replace(call, **changes))
        finally:
            await client.close()


@contextlib.asynccontextmanager
async def _asking(*answers: Any) -> AsyncIterator[Asking]:
    models = Models(*answers)
    async with models.serving():
        yield Asking(models)


async def test_an_answer_is_shown_word_by_word() -> None:
    """The request is what the node says, and the answer is shown as it arrives."""
    async with _asking(text("Hel", "lo", usage=17)) as ask:
        output = await ask()
    usage = {"prompt_tokens": 16, "completion_tokens": 1, "total_tokens": 17}
    assert output == {"text": "Hello", "usage": usage, "calls": []}
    assert ask.shown == ["Hel", "lo"]
    (request,) = ask.models.requests
    assert request["model"] == "tiny"
    assert request["max_tokens"] == 100
    assert request["stream"] is True
    assert [one["role"] for one in request["messages"]] == ["system", "user"]
    assert "tools" not in request
    assert ask.models.keys == [f"Bearer {KEY}"]


async def test_a_server_that_does_not_stream_is_understood() -> None:
    """One message in JSON is the whole answer."""
    answer = {
        "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    async with _asking(answer) as ask:
        output = await ask()
    assert (output["text"], output["usage"]["total_tokens"], ask.shown) == ("Hello", 7, ["Hello"])


async def test_tools_are_called_until_the_model_answers() -> None:
    """Their outputs go back to the model; each call has its own key and the time that is left."""
    two = tools(("orders_find", '{"id": "A1"}'), ("orders_cancel", ""))
    async with _asking(two, text("Done.")) as ask:
        ask.files["schemas/orders.find.json"] = json.dumps(
            {"description": "Find an order.", "type": "object", "required": ["id"]}
        )
        output = await ask(tools=("orders.find", "orders.cancel"))
    assert output["text"] == "Done."
    assert output["usage"]["total_tokens"] == 15
    assert output["calls"] == [
        {"tool": "orders.find", "input": {"id": "A1"}, "output": {"status": "sent"}},
        {"tool": "orders.cancel", "input": {}, "output": {"status": "sent"}},
    ]
    assert [(call.component, call.operation) for call in ask.calls] == [
        ("orders", "find"),
        ("orders", "cancel"),
    ]
    assert [call.about.idempotency_key for call in ask.calls] == ["key:0.0", "key:0.1"]
    assert all(0 < call.about.timeout_ms <= ABOUT.timeout_ms for call in ask.calls)
    described = ask.models.requests[0]["tools"]
    assert [one["function"]["name"] for one in described] == ["orders_find", "orders_cancel"]
    assert described[0]["function"]["description"] == "Find an order."
    assert described[0]["function"]["parameters"]["required"] == ["id"]
    *_, said, first, second = ask.models.requests[1]["messages"]
    assert [one["id"] for one in said["tool_calls"]] == ["c0", "c1"]
    assert [first["tool_call_id"], second["tool_call_id"]] == ["c0", "c1"]
    assert json.loads(first["content"]) == {"status": "sent"}
    assert ask.wallet.charged == [5, 10]


@pytest.mark.parametrize(
    ("call", "output", "code"),
    [
        (("orders_delete", "{}"), None, "unknown_tool"),
        (("orders.find", "{}"), None, "unknown_tool"),
        (("", ""), None, "unknown_tool"),
        (("orders_find", "{"), None, "invalid_input"),
        (("orders_find", "[1]"), None, "invalid_input"),
        (("orders_find", "[" * 20_000), None, "invalid_input"),
        (("orders_find", "{}"), NodeFailed("not_found", "no such order"), "not_found"),
        (("orders_find", "{}"), {"text": "x" * 70_000}, "value_too_large"),
    ],
)
async def test_the_model_reads_why_a_tool_failed(
    call: tuple[str, str], output: Any, code: str
) -> None:
    """A failure of a tool is for the model to handle; undeclared tools are never called."""
    async with _asking(tools(call), text("Sorry.")) as ask:
        ask.outputs = [] if output is None else [output]
        found = await ask(tools=("orders.find",))
    assert found["text"] == "Sorry."
    assert found["calls"][0]["error"]["code"] == code
    assert json.loads(ask.models.requests[1]["messages"][-1]["content"])["error"]["code"] == code
    assert bool(ask.calls) == (output is not None)


async def test_replies_of_tools_are_passed_on() -> None:
    """What a component emits is said by the flow."""
    async with _asking(tools(("orders_find", "{}")), text("Done.")) as ask:
        ask.outputs = [Answer({"ok": True}, [{"text": "Looking."}])]
        found = await ask(tools=("orders.find",))
    assert isinstance(found, Answer)
    assert found.value["calls"][0]["output"] == {"ok": True}
    assert found.replies == [{"text": "Looking."}]


async def test_rounds_are_bounded() -> None:
    """A model that calls tools for ever is stopped."""
    async with _asking(tools(("orders_find", "{}"))) as ask:
        with pytest.raises(NodeFailed) as failure:
            await ask(tools=("orders.find",), rounds=3)
    assert failure.value.code == "too_many_rounds"
    assert (len(ask.calls), len(ask.models.requests)) == (3, 4)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("answer", "code", "retryable", "after_ms"),
    [
        ((429, {"Retry-After": "3"}, {}), "model_busy", True, 3_000),
        ((503, {}, {}), "model_busy", True, 0),
        ((529, {}, {}), "model_busy", True, 0),
        ((500, {}, {}), "model_failed", True, 0),
        ((401, {}, {"error": {"message": f"wrong key {KEY}"}}), "model_denied", False, 0),
        ((403, {}, {}), "model_denied", False, 0),
        ((404, {}, {}), "model_not_found", False, 0),
        ((400, {}, {"error": {"code": "too_long", "message": KEY}}), "model_refused", False, 0),
        ((400, {}, {"error": {"code": KEY * 20}}), "model_refused", False, 0),
        ((400, {}, [1]), "model_refused", False, 0),
        ((400, {}, b'{"error": "\xff"}'), "model_refused", False, 0),
        ((500, {}, b'{"error": "\xff"}'), "model_failed", True, 0),
        ((200, JSON, b'{"error": "\xff"}'), "model_bad_response", True, 0),
        ((302, {"Location": "http://127.0.0.1:1/"}, {}), "http_denied", False, 0),
    ],
)  # fmt: skip
async def test_a_status_is_a_failure_with_a_code(
    answer: Any, code: str, *, retryable: bool, after_ms: int
) -> None:
    """Busy models say when to come back; nothing is charged, and the key is never shown."""
    async with _asking(answer) as ask:
        with pytest.raises(NodeFailed) as failure:
            await ask()
    found = failure.value
    assert (found.code, found.retryable, found.retry_after_ms) == (code, retryable, after_ms)
    assert KEY not in f"{found} {found.as_value()}"
    assert ask.wallet.charged == [0]


HEAD = b'data: {"choices": [{"delta": {"content": "Hel"}}]}\n\n'


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "model_bad_response"),
        (HEAD, "model_bad_response"),
        (HEAD + b"data: {oops\n\n", "model_bad_response"),
        (HEAD + b'data: {"choices": 17}\n\n', "model_bad_response"),
        (HEAD + b"data: " + b"[" * 5_000 + b"\n\n", "model_bad_response"),
        (HEAD + b'data: {"error": {"message": "overloaded"}}\n\n', "model_failed"),
        (HEAD + b"data: " + b"x" * (2 << 20), "model_bad_response"),
        (HEAD * 100_000, "model_too_large"),
        ((b":" * 100 + b"\n") * 100_000, "http_too_large"),
    ],
    ids=["empty", "broken off", "no JSON", "wrong JSON", "deep", "error", "line", "text", "bytes"],
)
async def test_a_broken_stream_is_a_failure(
    answer: bytes, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written until then is charged, if anything was."""
    monkeypatch.setattr(limits, "TEXT_CHARS", 10_000)
    async with _asking(answer) as ask:
        with pytest.raises(NodeFailed) as failure:
            await ask()
    assert failure.value.code == code
    assert (ask.wallet.charged[0] > 0) == answer.startswith(HEAD)
    assert ask.wallet.charged[0] < ask.wallet.reserved[0] or code == "model_too_large"


@pytest.mark.parametrize("ending", [b"\r\n\r\n", b"\n\n", b""])
async def test_events_are_read_as_servers_write_them(ending: bytes) -> None:
    """Comments, names, line endings and parts that are cut anywhere change nothing."""
    done = b'data:{"choices":[{"delta":{"content":" \xc3\xb6k"},"finish_reason":"stop"}]}'
    whole = b": ping\n\nevent: x\nid: 1\n" + HEAD + done + ending
    async with _asking([whole[i : i + 1] for i in range(len(whole))]) as ask:
        assert (await ask())["text"] == "Hel ök"


async def test_a_model_that_reports_no_usage_is_charged_what_was_reserved() -> None:
    """It cannot spend unseen."""
    async with _asking(text("Hi", usage=None)) as ask:
        output = await ask()
    assert ask.wallet.charged == ask.wallet.reserved
    assert output["usage"]["total_tokens"] == ask.wallet.reserved[0] > 100


async def test_a_budget_that_is_used_up_stops_the_node() -> None:
    """The model is not asked again when a round does not fit."""
    async with _asking(tools(("orders_find", "{}"), usage=100)) as ask:
        ask.wallet.most = 400
        with pytest.raises(NodeFailed) as failure:
            await ask(tools=("orders.find",), budget="team")
    assert failure.value.code == "budget_exceeded"
    assert failure.value.details["budget"] == "team"
    assert not failure.value.retryable
    assert len(ask.models.requests) < 4
    assert sum(ask.wallet.charged) <= 400


async def test_a_model_that_never_ends_is_given_up() -> None:
    """A later attempt may succeed."""
    async with _asking([HEAD, asyncio.Event()]) as ask:
        with pytest.raises(NodeFailed) as failure:
            await ask(about=replace(ABOUT, timeout_ms=150), reserve=_free)
    assert (failure.value.code, failure.value.retryable) == ("http_timeout", True)


def _free(*_: Any) -> Any:
    return contextlib.nullcontext(Reserved({}))


async def test_a_cancelled_stream_closes_the_connection() -> None:
    """The server learns of it, and what was written is charged."""
    async with _asking([HEAD, asyncio.Event()]) as ask:
        task = asyncio.ensure_future(ask())
        await ask.begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(5):
            await ask.models.gone.wait()
    assert ask.wallet.charged[0] > 0


async def test_a_missing_key_or_model_is_a_clear_error(caplog: pytest.LogCaptureFixture) -> None:
    """At load time for a tenant, and when a node runs anyway; nothing is sent."""
    caplog.set_level(logging.DEBUG)
    async with _asking(text("hi")) as ask:
        client = Web()
        nodes = ModelNodes(bundle_of(1, FLOW), client, Vault(Keeper()))
        await nodes.check("acme", "prod")
        with pytest.raises(InvalidPack, match=r"MODEL_KEY.*poor") as error:
            await nodes.check("poor", "prod")
        assert error.value.context["problem"] == "secret_missing"
        await client.close()
        with pytest.raises(NodeFailed) as failure:
            await ask(about=replace(ABOUT, tenant="poor"))
        assert failure.value.code == "secret_missing"
        with pytest.raises(NodeFailed) as failure:
            await ask(model="large")
        assert failure.value.code == "model_not_found"
        await ask()
    assert len(ask.models.requests) == 1
    assert KEY not in caplog.text


def test_a_schema_of_a_tool_must_be_one() -> None:
    """A pack with a broken schema does not load."""
    for broken in ("{", "[]", "1"):
        bundle = bundle_of(1, FLOW, **{"schemas/orders.find.json": broken})
        with pytest.raises(InvalidPack, match=r"orders\.find"):
            ModelNodes(bundle, Web(), Vault(Keeper()))

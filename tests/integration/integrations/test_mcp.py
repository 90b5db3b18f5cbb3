"""Tasks and operations as tools, with the real client of MCP."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from holdfast import App, Context
from holdfast.api import Engine
from holdfast.client import Client as FarEngine
from holdfast.engine import open_engine
from holdfast.errors import InvalidInput
from holdfast.integrations.mcp import Desk, new_server
from holdfast.integrations.mcp.server import KEY
from holdfast.server.run import serving
from holdfast.server.settings import ServerSettings
from holdfast.testing import wait_for

READING = ["count", "explain", "history", "list", "logs", "result", "show", "waitpoints"]
OPERATING = ["approve", "cancel", "deny", "replay", "signal"]


def tasks(app: App) -> None:
    """Declare what the tests call."""

    @app.task
    async def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @app.task(name="text/long")
    async def long(size: int) -> str:
        return "x" * size

    @app.task
    async def reverse(data: bytes) -> bytes:
        return data[::-1]

    @app.task
    async def fails() -> None:
        raise ZeroDivisionError("by zero")

    @app.task
    async def refund(ctx: Context, order: int) -> str:
        await ctx.progress(50, "asking")
        answer = await ctx.wait_for("approve", title=f"Refund order {order}?")
        return str(answer["by"])

    @app.task(name="holdfast_list")
    async def taken() -> None: ...


@pytest.fixture
async def near(url: str) -> AsyncIterator[Engine]:
    """A store with a worker."""
    app = App(url)
    tasks(app)
    async with app.worker():
        yield app.engine


def names(prefix: str, tools: Any) -> list[str]:
    """Return the names of tools without the prefix."""
    return sorted(each.name.removeprefix(prefix) for each in tools if each.name.startswith(prefix))


def value(result: CallToolResult) -> dict[str, Any]:
    """Return the value of an answer, which is in its text as well."""
    (block,) = result.content
    assert block.type == "text"
    assert json.loads(block.text) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


def code(result: CallToolResult) -> str:
    """Return the code of an error."""
    assert result.is_error
    found: str = value(result)["error"]["code"]
    return found


async def test_tasks_are_tools(near: Engine) -> None:
    """Their schemas are those of the signatures; results are values, parts of them, or errors."""
    desk = Desk(near, most_chars=1_000)
    async with Client(new_server(desk)) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert set(tools["add"].input_schema["properties"]) == {"a", "b"}
        assert tools["add"].input_schema["required"] == ["a"]
        assert (tools["add"].description or "").startswith("Add two numbers.\n\nThis is a durable")
        assert tools["text_long"].title == "text/long"
        (taken,) = [each for each in tools.values() if each.title == "holdfast_list"]
        assert taken.name.startswith("task_holdfast_list_")

        answer = value(await client.call_tool("add", {"a": 2, "b": 3}))
        assert (answer["state"], answer["result"]) == ("completed", 5)
        assert code(await client.call_tool("add", {"a": "two"})) == "invalid_input"
        assert code(await client.call_tool("add", {"a": 2, "c": 3})) == "invalid_input"
        assert code(await client.call_tool("nothing", {})) == "not_found"
        failed = await client.call_tool("fails", {})
        assert failed.is_error
        assert value(failed)["error"]["type"] == "ZeroDivisionError"

        first = value(await client.call_tool("text_long", {"size": 1_500}))
        assert (first["chars"], first["next_offset"], first["encoding"]) == (1_502, 1_000, "json")
        asked = {"id": first["id"], "offset": 1_000}
        rest = value(await client.call_tool("holdfast_result", asked))
        assert json.loads(first["text"] + rest["text"]) == "x" * 1_500
        assert rest["next_offset"] is None

        given = base64.b64encode(b"\xff\x00a").decode()
        answer = value(await client.call_tool("reverse", {"base64": given}))
        assert base64.b64decode(answer["text"]) == b"a\x00\xff"
        assert code(await client.call_tool("reverse", {"base64": "!"})) == "invalid_input"

        # A client that is not sure whether its call arrived repeats it with the key.
        meta: Any = {KEY: "k1"}
        calls = [await client.call_tool("add", {"a": 1}, meta=meta) for _ in range(2)]
        first, second = (value(call)["id"] for call in calls)
        assert first == second


async def test_operators_have_tools(near: Engine) -> None:
    """A long task gives a handle; its question is answered, its waiting explained."""
    desk = Desk(near, wait_s=0.2)
    async with Client(new_server(desk, tasks=["refund"])) as client:
        tools = (await client.list_tools()).tools
        assert names("holdfast_", tools) == sorted(READING + OPERATING)
        assert [each.name for each in tools if not each.name.startswith("holdfast_")] == ["refund"]

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            return value(await client.call_tool(f"holdfast_{name}", arguments))

        handle = value(await client.call_tool("refund", {"order": 7}))
        assert "holdfast_result" in handle["next"]
        id = handle["id"]

        async def is_asking() -> bool:
            return bool((await call("waitpoints"))["items"])

        await wait_for(is_asking)
        assert "waits" in (await call("explain", id=id))["why"]
        (listed,) = (await call("list", kind="refund", state="suspended"))["items"]
        assert (listed["id"], bool(listed["why"])) == (id, True)
        assert (await call("show", id=id))["execution"]["state"] == "suspended"
        assert [each["kind"] for each in (await call("count"))["items"]] == ["refund"]
        (await call("logs", id=id))["items"]
        await call("approve", waitpoint=id, payload={"by": "ada"})
        assert (await call("result", id=id, wait_s=30))["result"] == "ada"
        events = [each["event"] for each in (await call("history", id=id))["items"]]
        assert events[0] == "created"

        second = value(await client.call_tool("refund", {"order": 8}))["id"]
        assert (await call("cancel", id=second, reason="a test"))["state"] == "cancelled"
        assert code(await client.call_tool("holdfast_cancel", {"id": second})) == "already_terminal"
        assert code(await client.call_tool("holdfast_show", {"id": "nothing"})) == (
            "execution_not_found"
        )
        assert code(await client.call_tool("holdfast_show", {})) == "invalid_input"
        assert (await call("replay", id=second))["state"] == "waiting"
        assert code(await client.call_tool("holdfast_deny", {"waitpoint": id})) == (
            "waitpoint_not_found"
        )


async def test_a_client_that_asks_for_progress_gets_it(near: Engine) -> None:
    """How far the execution is, while the call waits."""
    heard: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async with Client(new_server(Desk(near, wait_s=3), operate=False)) as client:
        handle = await client.call_tool("refund", {"order": 7}, progress_callback=progress)
        assert value(handle)["state"] == "suspended"
        assert heard == ["suspended 50% asking"]
        assert code(await client.call_tool("holdfast_list", {})) == "not_found"


async def test_a_key_has_its_rights(near: Engine, url: str) -> None:
    """Over HTTP, a tool exists if the key may use it, and tenants do not see each other."""
    made = await near.submit("add", input=b'{"a": 1}', tenant="other")
    own = await near.submit("add", input=b'{"a": 1}', tenant="acme")
    await near.wait(own.id, timeout_s=30)
    secrets = {}
    for role in ("viewer", "submitter", "operator"):
        _, secrets[role] = await near.api_keys.create(roles=[role], tenant="acme")
    async with open_engine(url) as engine, serving(engine, ServerSettings(port=0)) as (_, address):
        for role, operating, running in (
            ("viewer", [], False),
            ("submitter", [], True),
            ("operator", OPERATING, False),
        ):
            async with FarEngine(address, key=secrets[role]) as far:
                desk = Desk(far, "acme")
                async with Client(new_server(desk)) as client:
                    tools = (await client.list_tools()).tools
                    assert names("holdfast_", tools) == sorted(READING + operating)
                    assert ("add" in {each.name for each in tools}) is running
                    added = await client.call_tool("add", {"a": 1})
                    assert added.is_error is not running
                    shown = await client.call_tool("holdfast_show", {"id": made.id})
                    assert code(shown) == "execution_not_found"
                    cancelled = await client.call_tool("holdfast_cancel", {"id": own.id})
                    assert code(cancelled) == ("already_terminal" if operating else "forbidden")
    # The same on the store itself, with --tenant.
    async with Client(new_server(Desk(near, "acme"))) as client:
        shown = await client.call_tool("holdfast_show", {"id": made.id})
        assert code(shown) == "execution_not_found"
        listed = value(await client.call_tool("holdfast_list", {}))["items"]
        assert [each["tenant"] for each in listed] == ["acme", "acme"]


def test_limits_are_checked() -> None:
    """Of tenants, times and sizes."""
    engine: Any = None
    for wrong in ({"tenant": "a b"}, {"wait_s": -1}, {"most_chars": 10}):
        with pytest.raises(InvalidInput):
            Desk(engine, **wrong)

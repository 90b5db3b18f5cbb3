"""The MCP server: lists tools, calls them, and says what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from holdfast.errors import HoldfastError, NotFound, TooLarge
from holdfast.integrations.mcp.desk import Desk
from holdfast.integrations.mcp.operator_tools import TOOLS, OperatorTool
from holdfast.integrations.mcp.task_tools import TaskTool, published
from holdfast.model.api_keys import Role
from holdfast.model.states import State

log: logging.Logger = logging.getLogger(__name__)

#: Where a client puts a key that makes a repeated call the same submission.
KEY = "holdfast/idempotency-key"
_FRAME_CHARS = 1_000
_FAILED = (State.FAILED, State.CANCELLED, State.EXPIRED, State.SKIPPED)
_INSTRUCTIONS = (
    "Tools without the prefix holdfast_ run durable tasks. A task that takes long returns an id; "
    "holdfast_result waits for it. holdfast_explain says why an execution does not run."
)


class Tools:
    """The tools of a desk, for one client after another."""

    def __init__(self, desk: Desk, *, tasks: Sequence[str] = (), operate: bool = True) -> None:
        self._desk = desk
        self._tasks = tasks
        self._operate = operate
        #: The executions that calls wait for, by the ids of their requests.
        self._waiting: dict[Any, str] = {}

    async def list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        """List what the key may call."""
        roles = (await self._desk.engine.api_keys.me()).roles
        tools = [_of_task(name, tool, self._desk) for name, tool in (await self._named()).items()]
        if not _may(roles, Role.SUBMITTER):
            tools = []
        if self._operate:
            tools += [_of_operator(*each) for each in TOOLS.items() if _may(roles, each[1].role)]
        return types.ListToolsResult(tools=tools)

    async def call(self, ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool; errors of Holdfast are answers, which the model can read."""
        try:
            value = await self._call(ctx, params.name, params.arguments or {})
            return self._answer(value)
        except HoldfastError as error:
            log.info("%s: %s: %s", params.name, error.code, error)
            return _shown({"error": {"code": error.code, "message": error.message}}, is_error=True)

    async def cancelled(self, _ctx: Any, params: types.CancelledNotificationParams) -> None:
        """Cancel the execution whose call the client cancelled; a lost client cancels nothing."""
        execution_id = self._waiting.pop(params.request_id, None)
        if execution_id is not None:
            try:
                await self._desk.engine.cancel(execution_id, params.reason or "cancelled over MCP")
            except HoldfastError as error:
                log.info("cannot cancel %s: %s", execution_id, error)

    async def _call(self, ctx: Any, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        async def report(seconds: float, message: str) -> None:
            # Does nothing unless the client asked for progress.
            await ctx.session.report_progress(seconds, message=message)

        desk = replace(self._desk, report=report)
        if self._operate and name in TOOLS:
            tool = TOOLS[name]
            given = tool.signature.decode(msgspec.json.encode(arguments))
            answer: Mapping[str, Any] = await tool.call(desk, **given)
            return answer
        tools = await self._named()
        if name not in tools:
            raise NotFound(f"there is no tool {name}", name=name)
        return await self._run(desk, tools[name], arguments, ctx)

    async def _run(
        self, desk: Desk, tool: TaskTool, arguments: Mapping[str, Any], ctx: Any
    ) -> Mapping[str, Any]:
        fields: dict[str, Any] = {"input": tool.payload(arguments), "tenant": desk.submits_as}
        key = (ctx.meta or {}).get(KEY)
        if key is not None:
            fields["idempotency_key"] = key
        # A call that is cancelled meanwhile must know what to cancel.
        with anyio.CancelScope(shield=True):
            submitted = await desk.engine.submit(tool.kind, **fields)
            self._waiting[ctx.request_id] = submitted.id
        answer = await desk.outcome(submitted.id, desk.wait_s)
        # A cancelled call does not come here: `cancelled` needs the entry.
        self._waiting.pop(ctx.request_id, None)
        return answer

    async def _named(self) -> dict[str, TaskTool]:
        return await published(self._desk, self._tasks)

    def _answer(self, value: Mapping[str, Any]) -> types.CallToolResult:
        text = msgspec.json.encode(value)
        # The frame around a result that is as long as it may be.
        most = self._desk.most_chars + _FRAME_CHARS
        if len(text) > most:
            message = f"the answer has {len(text)} bytes, the limit is {most}: ask for less"
            raise TooLarge(message, size=len(text), limit=most)
        is_failed = value.get("state") in _FAILED and "error" in value
        return _shown(value, is_error=is_failed)


def _shown(value: Mapping[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    """Return an answer as text, which every client shows, and as a value."""
    text = msgspec.json.encode(value)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text.decode())]
    return types.CallToolResult(
        content=content, structured_content=msgspec.json.decode(text), is_error=is_error
    )


def _may(roles: Sequence[Role], role: Role) -> bool:
    return role is Role.VIEWER or role in roles or Role.ADMIN in roles


def _of_task(name: str, tool: TaskTool, desk: Desk) -> types.Tool:
    return types.Tool(
        name=name,
        title=tool.kind,
        description=tool.description(desk.wait_s),
        input_schema=tool.input_schema,
    )


def _of_operator(name: str, tool: OperatorTool) -> types.Tool:
    return types.Tool(
        name=name,
        description=tool.call.__doc__,
        input_schema=tool.signature.schema()["input"],
        annotations=types.ToolAnnotations(
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            open_world_hint=False,
        ),
    )


def new_server(desk: Desk, *, tasks: Sequence[str] = (), operate: bool = True) -> Server[Any]:
    """Return a server with the tools of a desk.

    Args:
        desk: the engine, the tenant and the limits.
        tasks: the tasks that are tools; without names, all that workers have published.
        operate: whether there are tools for operators.
    """
    tools = Tools(desk, tasks=tasks, operate=operate)
    server: Server[Any] = Server(
        "holdfast",
        version=version("holdfast"),
        instructions=_INSTRUCTIONS,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
    )
    params = types.CancelledNotificationParams
    server.add_notification_handler("notifications/cancelled", params, tools.cancelled)
    return server


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client at the other end of stdin and stdout, until it closes them."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

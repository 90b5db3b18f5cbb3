"""Tools for operators: look at executions, answer their questions, end them, run them again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from pydantic import Field

from holdfast.integrations.mcp.desk import WAIT_S, Desk
from holdfast.model.api_keys import Role
from holdfast.model.executions import Execution
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.model.waitpoints import NewSignal, Source
from holdfast.operate.answering import find
from holdfast.worker.signature import Signature, inspect_function

#: Operator tools are named so; a task whose tool would be named so gets another name.
PREFIX = "holdfast_"
_AGENT = Source(type="agent", identity="mcp")

Id = Annotated[str, Field(description="The id of an execution.")]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most.")]
Cursor = Annotated[str | None, Field(description="`next_cursor` of the page before.")]
Answered = Annotated[
    str, Field(description="The id of a waitpoint, or of an execution that waits at one only.")
]
Payload = Annotated[Any, Field(description="Any JSON value; the execution receives it.")]
Reason = Annotated[str, Field(description="Why; the history of the execution shows it.")]


@dataclass(frozen=True, slots=True)
class OperatorTool:
    """A function that is offered as a tool."""

    call: Callable[..., Awaitable[Any]]
    signature: Signature
    #: The role that a key needs for it.
    role: Role
    is_destructive: bool

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.role is Role.VIEWER


TOOLS: dict[str, OperatorTool] = {}


def _tool(
    role: Role, *, is_destructive: bool = False
) -> Callable[[Callable[..., Awaitable[Any]]], Callable[..., Awaitable[Any]]]:
    def add(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        name = PREFIX + call.__name__.strip("_")
        TOOLS[name] = OperatorTool(call, inspect_function(call, (Desk,)), role, is_destructive)
        return call

    return add


@_tool(Role.VIEWER)
async def list_(
    desk: Desk,
    *,
    kind: Annotated[str | None, Field(description="Only executions of this task.")] = None,
    state: State | None = None,
    tag: Annotated[str | None, Field(description="Only with this tag, NAME=VALUE.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Mapping[str, Any]:
    """List executions, newest first, with the reason why those that wait are not running."""
    name, _, value = (tag or "").partition("=")
    wanted = Filter(tenant=desk.tenant, kind=kind, state=state, tag=(name, value) if tag else None)
    page = await desk.engine.list(wanted, limit=limit, cursor=cursor, whys=True)
    items = [_brief(each) | {"why": page.whys.get(each.id)} for each in page.items]
    return {"items": items, "next_cursor": page.next_cursor}


@_tool(Role.VIEWER)
async def count(desk: Desk) -> Mapping[str, Any]:
    """Count executions by task, lane and state."""
    return {"items": await desk.engine.count(desk.tenant)}


@_tool(Role.VIEWER)
async def show(desk: Desk, id: Id) -> Mapping[str, Any]:
    """Show an execution: its state, attempts, recorded steps and error."""
    execution = await desk.engine.describe(await desk.own(id))
    steps = await desk.engine.steps(id)
    attempts = await desk.engine.attempts(id)
    return {"execution": execution, "attempts": attempts, "steps": [step.name for step in steps]}


@_tool(Role.VIEWER)
async def result(
    desk: Desk,
    id: Id,
    wait_s: Annotated[float, Field(ge=0, le=60, description="Seconds to wait for it.")] = WAIT_S,
    offset: Annotated[int, Field(ge=0, description="`next_offset` of the part before.")] = 0,
) -> Mapping[str, Any]:
    """Wait for the result of an execution; a long result is returned in parts."""
    await desk.own(id)
    if not offset:
        return await desk.outcome(id, wait_s)
    return desk.result(await desk.engine.wait(id, timeout_s=0), offset)


@_tool(Role.VIEWER)
async def explain(desk: Desk, id: Id) -> Mapping[str, Any]:
    """Explain why an execution is not running, and what it waits for."""
    explanation = await desk.engine.explain(await desk.own(id))
    return {"id": id, "state": explanation.state, "why": explanation.why}


@_tool(Role.VIEWER)
async def history(desk: Desk, id: Id) -> Mapping[str, Any]:
    """Return what happened to an execution, oldest first."""
    return {"items": await desk.engine.history(await desk.own(id))}


@_tool(Role.VIEWER)
async def logs(desk: Desk, id: Id, limit: Limit = 50, cursor: Cursor = None) -> Mapping[str, Any]:
    """Return the log lines of an execution, oldest first."""
    page = await desk.engine.streams.logs(await desk.own(id), limit=limit, cursor=cursor)
    return {"items": page.lines, "next_cursor": page.next_cursor}


@_tool(Role.VIEWER)
async def waitpoints(desk: Desk, limit: Limit = 20, cursor: Cursor = None) -> Mapping[str, Any]:
    """List the questions that executions wait for, oldest first."""
    page = await desk.engine.waitpoints.inbox(desk.tenant, limit=limit, cursor=cursor)
    return {"items": page.items, "next_cursor": page.next_cursor}


@_tool(Role.OPERATOR)
async def approve(desk: Desk, waitpoint: Answered, payload: Payload = None) -> Mapping[str, Any]:
    """Approve what an execution asks for. Ask your user first."""
    return await _answer(desk, waitpoint, "approve", payload)


@_tool(Role.OPERATOR)
async def deny(desk: Desk, waitpoint: Answered, payload: Payload = None) -> Mapping[str, Any]:
    """Deny what an execution asks for. Ask your user first."""
    return await _answer(desk, waitpoint, "deny", payload)


@_tool(Role.OPERATOR)
async def signal(
    desk: Desk, waitpoint: Answered, name: str = "answer", payload: Payload = None
) -> Mapping[str, Any]:
    """Answer a waitpoint with a signal of any name."""
    return await _answer(desk, waitpoint, name, payload)


async def _answer(desk: Desk, waitpoint: str, name: str, payload: Any) -> Mapping[str, Any]:
    found = await find(desk.engine, await desk.own(waitpoint))
    body = msgspec.json.encode(payload)
    signal = NewSignal(waitpoint=found, name=name, payload=body, source=_AGENT)
    return {"waitpoint": found, "effect": await desk.engine.waitpoints.signal(signal)}


@_tool(Role.OPERATOR, is_destructive=True)
async def cancel(desk: Desk, id: Id, reason: Reason = "") -> Mapping[str, Any]:
    """Cancel an execution that has not ended."""
    await desk.engine.cancel(await desk.own(id), reason)
    return {"id": id, "state": State.CANCELLED}


@_tool(Role.OPERATOR)
async def replay(
    desk: Desk,
    id: Id,
    *,
    keep_steps: Annotated[
        bool, Field(description="Continue where it failed, instead of from the beginning.")
    ] = True,
    reason: Reason = "",
) -> Mapping[str, Any]:
    """Run an ended execution again."""
    await desk.own(id)
    state = await desk.engine.replay(id, keep_steps=keep_steps, reason=reason)
    return {"id": id, "state": state}


def _brief(execution: Execution) -> dict[str, Any]:
    """Return what a list says about an execution."""
    fields = ("id", "tenant", "kind", "state", "created_at", "completed_at", "error", "tags")
    return {name: getattr(execution, name) for name in fields}

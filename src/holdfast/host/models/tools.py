"""Operations of components as tools of a model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from holdfast.host.flows.runners import Answer, ComponentCall, Invocation, NodeFailed
from holdfast.host.models.answers import ToolCall

#: How large the output of a tool may be; the model reads all of it.
OUTPUT_BYTES = 65_536
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_NAME_CHARS = 64

Run = Callable[[ComponentCall], Awaitable[Any]]


class Tools:
    """The tools of one node."""

    def __init__(self, names: Iterable[str], schemas: Mapping[str, Any], run: Run | None) -> None:
        self._run = run
        self._schemas = schemas
        #: What components replied; the flow says it when the node's outcome is recorded.
        self.replies: list[Any] = []
        #: `component.operation` by the name that the model uses, which may have no points.
        self._names: dict[str, str] = {}
        for name in names:
            self._names[self._free(_FOREIGN.sub("_", name)[:_NAME_CHARS])] = name

    def _free(self, name: str) -> str:
        number, found = 2, name
        while found in self._names:
            found = f"{name[: _NAME_CHARS - 3]}_{number}"
            number += 1
        return found

    def described(self) -> list[dict[str, Any]]:
        """Return the tools as models expect them."""
        return [
            {"type": "function", "function": self._described(name, tool)}
            for name, tool in self._names.items()
        ]

    def _described(self, name: str, tool: str) -> dict[str, Any]:
        schema = self._schemas.get(tool) or {"type": "object"}
        about = schema.get("description", tool) if isinstance(schema, dict) else tool
        return {"name": name, "description": about, "parameters": schema}

    async def call(self, call: ToolCall, about: Invocation) -> dict[str, Any]:
        """Call a tool; returns {tool, input, output} or {tool, input, error}, for the model."""
        tool = self._names.get(call.name)
        found: dict[str, Any] = {"tool": tool or call.name[:_NAME_CHARS], "input": None}
        try:
            if tool is None or self._run is None:
                raise NodeFailed("unknown_tool", "there is no such tool")  # noqa: TRY301
            found["input"] = _arguments(call.arguments)
            found["output"] = await _output(self._run, tool, found["input"], about, self.replies)
        except NodeFailed as failure:
            found["error"] = {"code": failure.code, "message": str(failure)}
        return found


async def _output(run: Run, tool: str, given: Any, about: Invocation, replies: list[Any]) -> Any:
    component, _, operation = tool.rpartition(".")
    call = ComponentCall(component=component, operation=operation, input=given, about=about)
    found = await run(call)
    if isinstance(found, Answer):
        replies += found.replies
        found = found.value
    output = msgspec.to_builtins(found)
    if len(msgspec.json.encode(output)) > OUTPUT_BYTES:
        message = f"the output has more than {OUTPUT_BYTES} bytes"
        raise NodeFailed("value_too_large", message)
    return output


def _arguments(text: str) -> Any:
    try:
        given = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise NodeFailed("invalid_input", "the arguments are not a JSON object")
    return given


def within(about: Invocation, round_: int, number: int, left_ms: int) -> Invocation:
    """Return who calls a tool: its key is its own, the same in every attempt."""
    key = f"{about.idempotency_key}:{round_}.{number}"
    return replace(about, idempotency_key=key, timeout_ms=left_ms)

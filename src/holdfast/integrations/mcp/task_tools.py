"""Published tasks as tools."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.integrations.mcp.desk import Desk
from holdfast.integrations.mcp.operator_tools import PREFIX
from holdfast.worker.signature import BYTES_CONTENT_TYPE

#: What every client accepts.
_MOST = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_BYTES = {
    "type": "object",
    "properties": {"base64": {"type": "string", "description": "The input as bytes in base64."}},
    "required": ["base64"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class TaskTool:
    """A task that is offered as a tool."""

    kind: str
    about: Mapping[str, Any]

    @property
    def takes_bytes(self) -> bool:
        """Whether its input is not JSON."""
        return bool(self.schema.get("contentMediaType") == BYTES_CONTENT_TYPE)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The schema of its input, as it was published."""
        schema: Mapping[str, Any] = self.about.get("input") or {}
        return schema

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of the arguments of the tool, which are always an object."""
        return _BYTES if self.takes_bytes else {"type": "object", **self.schema}

    def description(self, wait_s: float) -> str:
        """Return what a model reads about it."""
        about = str(self.about.get("description") or f"Runs the task {self.kind}.").strip()
        return (
            f"{about}\n\nThis is a durable task: it runs to its end, also if nobody waits. If that "
            f"takes longer than {wait_s:g} s, the answer has an id for {PREFIX}result."
        )

    def payload(self, arguments: Mapping[str, Any]) -> bytes:
        """Return the input of an execution; the engine checks it against the schema."""
        if not self.takes_bytes:
            return msgspec.json.encode(arguments)
        try:
            return base64.b64decode(str(arguments.get("base64", "")), validate=True)
        except binascii.Error as error:
            raise InvalidInput(f"base64: {error}", field="base64") from error


async def published(desk: Desk, wanted: Iterable[str] = ()) -> dict[str, TaskTool]:
    """Return the tools of the tasks that workers have published, by their names as tools."""
    chosen = set(wanted)
    tools: dict[str, TaskTool] = {}
    for kind, about in sorted((await desk.engine.tasks.list(tenant=desk.submits_as)).items()):
        if about.get("conversation") or (chosen and kind not in chosen):
            continue
        tools[_tool_name(kind, tools)] = TaskTool(kind, about)
    return tools


def _tool_name(kind: str, taken: Mapping[str, Any]) -> str:
    """Return a name that every client accepts; one that is taken gets a digest of the task."""
    name = _OTHER.sub("_", kind)
    if len(name) <= _MOST and name not in taken and not name.startswith(PREFIX):
        return name
    digest = hashlib.sha256(kind.encode()).hexdigest()[:8]
    return f"task_{name[: _MOST - 14]}_{digest}"

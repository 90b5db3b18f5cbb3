"""What tools work with: an engine, for one tenant or all, and the limits of their answers."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.api import Engine
from holdfast.errors import ExecutionNotFound, ResultNotReady
from holdfast.model import checks
from holdfast.model.executions import Outcome
from holdfast.model.names import DEFAULT_TENANT

#: How long a client without progress may hear nothing; many give up after 30 or 60 seconds.
WAIT_S = 20.0
MOST_WAIT_S = 3_600.0
#: The longest answer. Models read all of it.
MOST_CHARS = 50_000
MOST_CHARS_EVER = 10_000_000
_LOOK_S = 2.0
_LATER = "It has not ended. Call holdfast_result with this id to wait for it."

#: Called while a client waits, with the seconds so far and a sentence.
Report = Callable[[float, str], Awaitable[None]]


async def silent(_seconds: float, _message: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Desk:
    """An engine as tools use it."""

    engine: Engine
    #: The only tenant to act for; None acts for all, and submits as the default one.
    tenant: str | None = None
    #: How long a call waits for an execution before it returns its handle.
    wait_s: float = WAIT_S
    most_chars: int = MOST_CHARS
    report: Report = silent

    def __post_init__(self) -> None:
        if self.tenant is not None:
            checks.name("tenant", self.tenant)
        checks.number("wait", self.wait_s, 0, MOST_WAIT_S)
        checks.integer("max_chars", self.most_chars, 1_000, MOST_CHARS_EVER)

    @property
    def submits_as(self) -> str:
        """The tenant of submissions."""
        return self.tenant or DEFAULT_TENANT

    async def own(self, execution_id: str) -> str:
        """Return the id of an execution; raise ExecutionNotFound if it is another tenant's."""
        # The id of a waitpoint begins with that of its execution.
        id = execution_id.partition("~w")[0]
        if self.tenant is not None and await self.engine.owner(id) != self.tenant:
            raise ExecutionNotFound(f"there is no execution {id}", id=id)
        return execution_id

    async def outcome(self, execution_id: str, wait_s: float) -> dict[str, Any]:
        """Return the result of an execution, or after a while its handle."""
        waited = 0.0
        while True:
            stretch = min(_LOOK_S, wait_s - waited)
            with contextlib.suppress(ResultNotReady):
                ended = await self.engine.wait(execution_id, timeout_s=stretch)
                return self.result(ended)
            waited += stretch
            execution = await self.engine.describe(execution_id)
            if waited >= wait_s:
                return {"id": execution_id, "state": execution.state, "next": _LATER}
            percent = "" if execution.progress_pct is None else f" {execution.progress_pct:g}%"
            message = f" {execution.progress_message}" if execution.progress_message else ""
            await self.report(waited, f"{execution.state}{percent}{message}")

    def result(self, ended: Outcome, offset: int = 0) -> dict[str, Any]:
        """Return how an execution ended; of a long result, the part from a character on."""
        shown: dict[str, Any] = {"id": ended.id, "state": ended.state}
        if ended.result is None:
            return shown | {"error": ended.error or {}, "reason": ended.reason}
        text, is_json = _text(ended.result)
        if is_json and not offset and len(text) <= self.most_chars:
            return shown | {"result": msgspec.Raw(ended.result)}
        end = offset + self.most_chars
        part = {"text": text[offset:end], "chars": len(text), "encoding": "base64"}
        if is_json:
            part["encoding"] = "json"
        return shown | part | {"next_offset": end if end < len(text) else None}


def _text(payload: bytes) -> tuple[str, bool]:
    """Return a payload as text: itself if it is JSON, else in base64."""
    try:
        msgspec.json.decode(payload)
        return payload.decode(), True
    except (msgspec.DecodeError, UnicodeDecodeError):
        return base64.b64encode(payload).decode(), False

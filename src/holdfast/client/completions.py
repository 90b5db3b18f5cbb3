"""Results of executions over HTTP: those of one moment travel in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.client.beats import lease_body
from holdfast.client.http import Http, path, refusal_of
from holdfast.errors import HoldfastError, NotFound
from holdfast.lines import Line
from holdfast.model import payloads
from holdfast.model.calls import Completion
from holdfast.outages import will_pass
from holdfast.tracing import current_traceparent

_ITEMS_IN_CALL = 100
_BYTES_IN_CALL = 1 << 20


class Completions:
    """Ends executions."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._line: Line[Completion, HoldfastError | None] = Line(
            self._send,
            most_items=_ITEMS_IN_CALL,
            most_bytes=_BYTES_IN_CALL,
            size_of=lambda item: len(item.result),
        )
        #: Servers of older releases take one at a time.
        self._takes_many = True

    async def complete(self, item: Completion) -> None:
        """End an execution with its result."""
        # A call for many belongs to no trace, so a result of a trace has a call of its own.
        if self._takes_many and current_traceparent() is None:
            try:
                # What an execution was refused is a value, so that only the path can be missing.
                refusal = await self._line.add(item)
            except NotFound:
                self._takes_many = False
            else:
                if refusal is None:
                    return
                if not will_pass(refusal):
                    raise refusal
                # Others of the call were answered; by itself, this one is retried.
        body = {"lease": lease_body(item.lease), **completion_body(item.result, item.content_type)}
        await self._http.post(path("executions", item.execution_id, "complete"), body)

    async def _send(self, items: Sequence[Completion]) -> list[HoldfastError | None]:
        bodies = [
            {
                "execution": item.execution_id,
                "lease": lease_body(item.lease),
                **completion_body(item.result, item.content_type),
            }
            for item in items
        ]
        reply = await self._http.post("/v1/leases:complete", {"items": bodies})
        return [
            None if view["ok"] else refusal_of({"id": item.execution_id, **view})
            for item, view in zip(items, reply["items"], strict=True)
        ]


def completion_body(result: bytes, content_type: str | None) -> dict[str, Any]:
    """Return the part of a body that has a result."""
    return {"content_type": content_type, **payloads.fields("result", result)}

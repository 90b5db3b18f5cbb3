"""Signals to running executions and their views, over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from holdfast.client import decode
from holdfast.client.beats import lease_body
from holdfast.client.http import Http, path
from holdfast.model.ids import new_id
from holdfast.model.inboxes import ExecutionSignal, Receipt
from holdfast.model.states import State
from holdfast.model.views import View
from holdfast.model.waitpoints import Effect, Signal

#: The longest poll; the next follows at once.
_WAIT_MS = 20_000


async def send(http: Http, item: ExecutionSignal) -> Effect:
    """Send a signal; a generated key makes it safe to send again."""
    body = {
        "name": item.name,
        "payload": msgspec.Raw(item.payload),
        "source": {"type": item.source.type, "identity": item.source.identity},
        "idempotency_key": item.idempotency_key or new_id(),
        "correlation": item.correlation,
    }
    reply = await http.post(path("executions", item.execution_id, "signals"), body)
    effect = Effect(reply["effect"])
    # A generated key can be a duplicate only of itself.
    return Effect.BUFFERED if item.idempotency_key is None else effect


async def receive(
    http: Http, receipt: Receipt, *, timeout_s: float = 0.0, **options: Any
) -> Signal | None:
    """Receive a signal as a step; None if none comes in time."""
    where = path("executions", receipt.execution_id, "receive")
    body = {"lease": lease_body(receipt.lease), "names": receipt.names, "step": receipt.step}
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + timeout_s
    while True:
        wait_ms = max(0, min(_WAIT_MS, int((ends_at - loop.time()) * 1000)))
        sent = {**body, **options, "wait_ms": wait_ms}
        response = await http.send("POST", where, body=sent, wait_s=wait_ms / 1000)
        found = decode.received(response.content)
        if found is not None or loop.time() >= ends_at:
            return found


class _ViewReply(msgspec.Struct):
    state: str
    version: int
    view: msgspec.Raw
    at: str | None


async def view(http: Http, execution_id: str, after: int, timeout_s: float) -> View:
    """Read a view; wait for a newer one, or for the end of the execution."""
    where = path("executions", execution_id, "view")
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + timeout_s
    while True:
        wait_ms = max(0, min(_WAIT_MS, int((ends_at - loop.time()) * 1000)))
        query = {"after": after or None, "wait_ms": wait_ms or None}
        response = await http.send("GET", where, query=query, wait_s=wait_ms / 1000)
        found = _view(msgspec.json.decode(response.content, type=_ViewReply))
        if found.version > after or found.state.is_terminal or loop.time() >= ends_at:
            return found


def _view(reply: _ViewReply) -> View:
    state = State(reply.state)
    if reply.at is None:
        return View(state=state, version=reply.version)
    return View(
        state=state, version=reply.version, data=bytes(reply.view), at=decode.moment(reply.at)
    )

"""Signals to executions, for tests."""

from __future__ import annotations

from typing import Any

from holdfast.model.executions import Claim
from holdfast.model.inboxes import ExecutionSignal
from holdfast.model.waitpoints import Effect
from holdfast.store.store import Store


async def send(store: Store, execution_id: str, name: str = "s", **fields: Any) -> Effect:
    """Send a signal."""
    item = ExecutionSignal(execution_id=execution_id, name=name, **fields)
    return await store.inboxes.send(item)


async def receive(store: Store, claim: Claim, step: str, *names: str) -> Any:
    """Receive the next signal as a step; returns its payload, or None."""
    unread = await store.inboxes.peek(claim.id, claim.lease, names)
    if unread is None:
        return None
    assert await store.inboxes.take(claim.id, claim.lease, step, unread) is not None
    return unread[1].value

"""Signals to executions, and their receipt."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.inboxes import ExecutionSignal, encode_received
from holdfast.model.waitpoints import Effect, Signal
from holdfast.store import decode
from holdfast.store.domain import Domain

#: A signal with the number that the inbox gave it.
Unread = tuple[bytes, Signal]


class Inboxes(Domain):
    """Transitions of inboxes."""

    async def send(self, item: ExecutionSignal) -> Effect:
        """Add a signal to the inbox of an execution."""
        word, _ = await self._call.write(
            "hf_inbox_send",
            self._store.tag_of(item.execution_id),
            item.execution_id,
            new_id(),
            item.idempotency_key or "",
            item.name,
            item.payload,
            item.source.type,
            item.source.identity,
            item.correlation,
        )
        return Effect(word.decode())

    async def peek(
        self, execution_id: str, lease: Lease, names: Sequence[str], *, process: str = ""
    ) -> Unread | None:
        """Return the next unread signal; if there is none, `process` is notified of the next."""
        reply = await self._call.write(
            "hf_inbox_peek",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            process,
            *names,
        )
        return _unread(execution_id, reply)

    async def wait(
        self, execution_id: str, lease: Lease, names: Sequence[str], until_ms: int | None
    ) -> Unread | None:
        """Return the next unread signal; if there is none, return the lease until one comes."""
        reply = await self._call.write(
            "hf_inbox_wait",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            "" if until_ms is None else str(until_ms),
            *names,
        )
        return _unread(execution_id, reply)

    async def take(
        self, execution_id: str, lease: Lease, step: str, unread: Unread
    ) -> bytes | None:
        """Receive a signal as a step; returns what the step records, None if it is gone."""
        number, signal = unread
        result = encode_received(signal)
        word, *known = await self._call.write(
            "hf_inbox_take",
            self._store.tag_of(execution_id),
            execution_id,
            lease.fence,
            step,
            number,
            result,
        )
        if word == b"gone":
            return None
        return known[0] if word == b"known" else result


def _unread(execution_id: str, reply: Sequence[bytes]) -> Unread | None:
    if not reply:
        return None
    number, packed = reply
    return number, decode.signal(execution_id, packed)

"""Signals to executions, and their receipt."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.inboxes import ExecutionSignal, encode_received
from holdfast.model.waitpoints import Effect, Signal
from holdfast.store import decode
from holdfast.store.domain import Domain
from holdfast.store.executions import open_step, step_scope
from holdfast.store.waitpoints import open_signal

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
            self._sealing.seal_token(item.payload, "signal", item.execution_id),
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
        return self._unread(execution_id, reply)

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
        return self._unread(execution_id, reply)

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
            self._sealing.seal(result, "step", step_scope(execution_id, step)),
        )
        if word == b"gone":
            return None
        return open_step(self._sealing, execution_id, step, known[0]) if known else result

    def _unread(self, execution_id: str, reply: Sequence[bytes]) -> Unread | None:
        if not reply:
            return None
        number, packed = reply
        signal = decode.signal(execution_id, packed)
        return number, open_signal(self._sealing, execution_id, signal)

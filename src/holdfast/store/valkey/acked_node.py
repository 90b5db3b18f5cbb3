"""A server whose answers count once replicas, or its disk, have the change.

Writes have a connection of their own. Behind each batch of them goes one command that waits, and no
further batch is sent before its reply, so all calls that come meanwhile share the next wait. Reads
use another connection and wait for nothing.

A server waits for what the same connection wrote last. A repeated call that finds its work done
writes nothing, although the replicas may lack what an earlier connection wrote. Each batch
therefore ends with a small write, behind which everything earlier must have arrived too. Behind
calls that are sent as scripts, because the library is missing, it is a script, too.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from holdfast.store.valkey import failures, library
from holdfast.store.valkey.acks import Ack, is_script
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.wire import Address, Call, Dial, Wire, pack

#: How long to wait for replicas or the disk; the call is then sent again, until its own deadline.
WAIT_MS = 1_000
_TOUCH = "hf_admin_touch"


def node_at(address: Address, dial: Dial) -> Node:
    """Make a server with the acknowledgements that are asked for."""
    return Node(address, dial) if dial.ack is None else AckedNode(address, dial, dial.ack)


class AckedNode(Node):
    """A server that answers writes after they are where they must be."""

    def __init__(self, address: Address, dial: Dial, ack: Ack) -> None:
        super().__init__(address, dial)
        self._ack = ack
        self._wait_ms = min(WAIT_MS, int(dial.timeout_s * 500))
        self._waiting = pack(ack.command(self._wait_ms))
        self._reads = Node(address, replace(dial, ack=None))
        #: The tag of the last call.
        self._tag: str | bytes = ""
        self._is_waiting = False

    async def close(self) -> None:
        """Close both connections; calls under way fail."""
        await super().close()
        await self._reads.close()

    def send(self, packed: bytes, *, tag: str | bytes | None = None) -> asyncio.Future[Any]:
        """Send a command; one with a tag is answered when its change is safe."""
        if tag is None:
            return self._reads.send(packed)
        self._tag = tag
        return super().send(packed)

    def _room(self, wire: Wire) -> int:
        return 0 if self._is_waiting else super()._room(wire)

    def _send_batch(self, wire: Wire, batch: list[Call]) -> None:
        """Send calls, a write, and a wait for all of them."""
        self._is_waiting = True
        sent = [(packed, self._loop.create_future()) for packed, _ in batch]
        touched, waited = self._loop.create_future(), self._loop.create_future()
        waited.add_done_callback(partial(self._settle, batch, sent, touched))
        wire.send([*sent, (self._touch(batch), touched), (self._waiting, waited)])

    def _touch(self, batch: list[Call]) -> bytes:
        """Return the small write behind a batch."""
        if any(is_script(packed) for packed, _ in batch):
            return pack(("EVAL", library.script(_TOUCH), "1", self._tag))
        return pack(("FCALL", _TOUCH, "1", self._tag))

    def _settle(
        self,
        batch: list[Call],
        sent: list[Call],
        touched: asyncio.Future[Any],
        waited: asyncio.Future[Any],
    ) -> None:
        """Answer the calls of a batch, and send what came meanwhile."""
        self._is_waiting = False
        trouble = self._trouble_of(touched, waited)
        for (_, answer), (_, reply) in zip(batch, sent, strict=True):
            error = reply.exception()
            if answer.done():
                continue
            if error is not None:
                answer.set_exception(error)
            elif trouble is not None:
                answer.set_exception(trouble)
            else:
                answer.set_result(reply.result())
        self._write()

    def _trouble_of(
        self, touched: asyncio.Future[Any], waited: asyncio.Future[Any]
    ) -> CallFailed | None:
        """Return why calls cannot be acknowledged that the server has run, or None."""
        errors = [touched.exception(), waited.exception()]
        for error in errors:
            if error is not None:
                return failures.unanswered(f"not acknowledged: {error}")
        lacking = self._ack.trouble(waited.result(), self._wait_ms)
        return None if lacking is None else failures.unanswered(lacking)

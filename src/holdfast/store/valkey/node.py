"""One server: its connection, the calls that wait for it, and connecting again.

Calls made in the same tick of the event loop are written together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from holdfast.concurrency import stop
from holdfast.store.valkey import failures
from holdfast.store.valkey.acks import tag_of
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.wire import Address, Call, Command, Dial, Wire, pack

#: More calls under way would use memory without adding speed: the server has one thread.
MOST_CALLS_UNDER_WAY = 1_024
MOST_BYTES_IN_BATCH = 4 << 20

#: How long calls fail immediately after a server could not be reached.
_PAUSE_S = 0.05


class Node:
    """A server. It connects with the first call, and again after a lost connection."""

    def __init__(self, address: Address, dial: Dial) -> None:
        self.address = address
        self._dial = dial
        self._loop = asyncio.get_running_loop()
        self._wire: Wire | None = None
        self._opening: asyncio.Task[None] | None = None
        self._pending: deque[Call] = deque()
        self._flush_planned = False
        self._closed = False
        #: Why the last attempt to connect failed, and when the next may begin.
        self._trouble: CallFailed | None = None
        self._retry_at = 0.0

    async def open(self) -> None:
        """Connect now; raises CallFailed."""
        await self.call(("PING",))

    async def close(self) -> None:
        """Close the connection; calls under way fail."""
        self._closed = True
        self._drop(failures.not_sent("the client is closed"))
        if self._opening is not None:
            await stop(self._opening)
        if self._wire is not None:
            self._wire.close()

    async def call(self, command: Command) -> Any:
        """Send a command; returns its reply. Raises CallFailed."""
        return await self.send(pack(command), tag=tag_of(command))

    async def on_primaries(self, command: Command) -> list[Any]:
        """Send a command to every primary, which is this one."""
        return [await self.call(command)]

    def primaries(self) -> list[Node]:
        """Return every primary, which is this one."""
        return [self]

    def send(
        self,
        packed: bytes,
        *,
        tag: str | bytes | None = None,  # noqa: ARG002 - for nodes that wait for replicas
    ) -> asyncio.Future[Any]:
        """Send a command with others of the same moment. Raises CallFailed, or its future does.

        One that may write has the tag of its partition.
        """
        if self._closed:
            raise failures.not_sent("the client is closed")
        if self._wire is None and self._opening is None:
            if self._trouble is not None and self._loop.time() < self._retry_at:
                raise failures.not_sent(self._trouble.text)
            self._opening = self._loop.create_task(self._connect())
        future: asyncio.Future[Any] = self._loop.create_future()
        self._pending.append((packed, future))
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush)
        return future

    def _flush(self) -> None:
        self._flush_planned = False
        self._write()

    def _write(self) -> None:
        wire = self._wire
        while self._pending and wire is not None and wire.is_open and not wire.is_paused:
            room = self._room(wire)
            if room <= 0 or not (batch := self._next_batch(room)):
                return
            self._send_batch(wire, batch)

    def _room(self, wire: Wire) -> int:
        """Return how many calls may be sent now."""
        return MOST_CALLS_UNDER_WAY - wire.under_way

    def _send_batch(self, wire: Wire, batch: list[Call]) -> None:
        wire.send(batch)

    def _next_batch(self, most: int) -> list[Call]:
        pending = self._pending
        batch: list[Call] = []
        size = 0
        while pending and len(batch) < most:
            call = pending[0]
            size += len(call[0])
            if batch and size > MOST_BYTES_IN_BATCH:
                break
            pending.popleft()
            if not call[1].cancelled():
                batch.append(call)
        return batch

    async def _connect(self) -> None:
        try:
            wire = await self._dial.open(self.address)
            if not wire.is_open:
                raise failures.not_sent("the connection was lost")
        except CallFailed as failure:
            self._trouble = failure
            self._retry_at = self._loop.time() + _PAUSE_S
            self._drop(failure)
        else:
            self._trouble = None
            self._wire = wire
            wire.on_room = self._write
            wire.on_lost = self._forget
        finally:
            self._opening = None
        self._write()

    def _forget(self) -> None:
        """Connect again for calls that have not been sent."""
        self._wire = None
        if self._pending and not self._closed:
            self._opening = self._loop.create_task(self._connect())

    def _drop(self, failure: CallFailed) -> None:
        for _, future in self._pending:
            if not future.done():
                future.set_exception(failures.not_sent(failure.text))
        self._pending.clear()


def ignore(future: asyncio.Future[Any]) -> None:
    """Take note of a failure that the call itself will report, too."""
    if not future.cancelled():
        future.exception()

"""Waits for messages: until the store notifies, the next timer is due, or a slow poll."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from holdfast.concurrency import wait_or_timeout
from holdfast.errors import ReadCancelled
from holdfast.model.deliveries import Delivery
from holdfast.store import channels
from holdfast.store.store import Store

#: A failover can lose a wake-up; this bounds how long messages can go unnoticed.
POLL_S = 2.0

#: The topic of lib/queue/queue.lua on which a queue wakes its waiters.
TOPIC = "messages"

#: Reads once; returns deliveries, and in how many ms there may be more.
Probe = Callable[[], Awaitable[tuple[Sequence[Delivery], int | None]]]


class Readers:
    """The waiting readers of this process, by queue. Subscriptions are kept until `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._channels: dict[str, asyncio.Future[None]] = {}
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self._closed = False

    async def close(self) -> None:
        """Cancel the waiting readers, and stop listening."""
        self._closed = True
        for waiters in self._waiters.values():
            for woken in waiters:
                woken.set()
        await asyncio.gather(*self._channels.values(), return_exceptions=True)
        await self._store.subscriptions.remove(self._channels, self._on_wake)
        self._channels.clear()

    def wake(self, name: str) -> None:
        """Make the readers of a queue in this process read again."""
        self._on_wake(self._channel(name), "")

    def _channel(self, name: str) -> str:
        return channels.topic(self._store.queue_tag(name), TOPIC)

    async def read(
        self, name: str, probe: Probe, wait_ms: int, stop: Callable[[], bool]
    ) -> Sequence[Delivery]:
        """Read until there are messages; returns none after the timeout.

        Raises:
            ReadCancelled: the readers are being closed, or the read was cancelled.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        deliveries, next_ms = await probe()
        if deliveries or not wait_ms:
            return deliveries
        channel = self._channel(name)
        woken = asyncio.Event()
        waiters = self._waiters.setdefault(channel, set())
        waiters.add(woken)
        try:
            await self._listen(channel)
            while True:
                if self._closed or stop():
                    raise ReadCancelled(f"reading {name} was cancelled", queue=name)
                woken.clear()
                deliveries, next_ms = await probe()
                if deliveries or loop.time() >= deadline:
                    return deliveries
                pause = POLL_S if next_ms is None else min(POLL_S, next_ms / 1000)
                await wait_or_timeout(woken, min(deadline - loop.time(), pause))
        finally:
            waiters.discard(woken)
            if not waiters:
                self._waiters.pop(channel, None)

    async def _listen(self, channel: str) -> None:
        if channel not in self._channels:
            opening = self._store.subscriptions.add([channel], self._on_wake)
            self._channels[channel] = asyncio.ensure_future(opening)
        await asyncio.shield(self._channels[channel])

    def _on_wake(self, channel: str, _message: str) -> None:
        for woken in self._waiters.get(channel, ()):
            woken.set()

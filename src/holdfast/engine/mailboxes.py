"""Being told: many who wait in one process, one channel for each partition."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from holdfast.model.ids import new_id
from holdfast.store import keys
from holdfast.store.store import Store


class Mailboxes:
    """Who waits for news of which execution. News are lost in a failover, so all poll, slowly."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: The name under which the store knows us.
        self.process: str = new_id()
        self._channels: dict[str, asyncio.Future[None]] = {}
        self._waiters: dict[str, set[asyncio.Event]] = {}

    async def close(self) -> None:
        """Stop listening."""
        await asyncio.gather(*self._channels.values(), return_exceptions=True)
        await self._store.subscriptions.remove(self._channels, self._on_message)
        self._channels.clear()

    @contextlib.asynccontextmanager
    async def waiter(self, execution_id: str) -> AsyncIterator[asyncio.Event]:
        """Yield what is set at every piece of news of an execution."""
        told = asyncio.Event()
        waiters = self._waiters.setdefault(execution_id, set())
        waiters.add(told)
        try:
            await self._open(self._store.tag_of(execution_id))
            yield told
        finally:
            waiters.discard(told)
            if not waiters:
                self._waiters.pop(execution_id, None)

    async def _open(self, tag: str) -> None:
        """Listen on the channel of a partition, once for all who wait."""
        channel = keys.mailbox_channel(tag, self.process)
        if channel not in self._channels:
            opening = self._store.subscriptions.add([channel], self._on_message)
            self._channels[channel] = asyncio.ensure_future(opening)
        await asyncio.shield(self._channels[channel])

    def _on_message(self, _channel: str, message: str) -> None:
        _, _, execution_id = message.partition(" ")
        for told in self._waiters.get(execution_id, ()):
            told.set()


async def news_or_poll(told: asyncio.Event, poll_s: float) -> None:
    """Wait for news, or for the time to look anyway."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(poll_s):
            await told.wait()
    told.clear()

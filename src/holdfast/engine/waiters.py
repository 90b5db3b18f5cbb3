"""Being told: many who wait in one process, with one mailbox."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from holdfast.concurrency import wait_or_timeout
from holdfast.engine.mailbox import Mailbox
from holdfast.store.store import Store


class Waiters:
    """Who waits for news of which execution. News are lost in a failover, so all poll, slowly."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mailbox = Mailbox(store, self._on_message)
        #: The name under which the store knows us.
        self.process: str = self._mailbox.process
        self._waiters: dict[str, set[asyncio.Event]] = {}

    async def close(self) -> None:
        """Stop listening."""
        await self._mailbox.close()

    @contextlib.asynccontextmanager
    async def waiter(self, execution_id: str) -> AsyncIterator[asyncio.Event]:
        """Yield what is set at every piece of news of an execution."""
        told = asyncio.Event()
        waiters = self._waiters.setdefault(execution_id, set())
        waiters.add(told)
        try:
            await self._mailbox.open(self._store.tag_of(execution_id))
            yield told
        finally:
            waiters.discard(told)
            if not waiters:
                self._waiters.pop(execution_id, None)

    def _on_message(self, message: str) -> None:
        _, _, execution_id = message.partition(" ")
        for told in self._waiters.get(execution_id, ()):
            told.set()


async def news_or_poll(told: asyncio.Event, poll_s: float) -> None:
    """Wait for news, or for the time to look anyway."""
    await wait_or_timeout(told, poll_s)
    told.clear()

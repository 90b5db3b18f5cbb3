"""The waiters of a process, which share one mailbox."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from holdfast.concurrency import wait_or_timeout
from holdfast.engine.mailbox import Mailbox
from holdfast.store.store import Store


class Waiters:
    """The waiters for news of executions. A failover can lose notifications, so all also poll."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mailbox = Mailbox(store, self._on_message)
        #: The name of this process in the store.
        self.process: str = self._mailbox.process
        self._waiters: dict[str, set[asyncio.Event]] = {}

    async def close(self) -> None:
        """Stop listening."""
        await self._mailbox.close()

    def listens_for(self, execution_id: str) -> bool:
        """Whether notifications about an execution reach this process already."""
        return self._mailbox.is_open(self._store.tag_of(execution_id))

    @contextlib.asynccontextmanager
    async def waiter(self, execution_id: str) -> AsyncIterator[asyncio.Event]:
        """Yield an event that every notification about an execution sets."""
        event = asyncio.Event()
        waiters = self._waiters.setdefault(execution_id, set())
        waiters.add(event)
        try:
            await self._mailbox.open(self._store.tag_of(execution_id))
            yield event
        finally:
            waiters.discard(event)
            if not waiters:
                self._waiters.pop(execution_id, None)

    def notify(self, execution_id: str, *, knowing: asyncio.Event | None = None) -> None:
        """Notify the waiters for an execution, but not the one that knows."""
        for event in self._waiters.get(execution_id, ()):
            if event is not knowing:
                event.set()

    def _on_message(self, message: str) -> None:
        _, _, execution_id = message.partition(" ")
        self.notify(execution_id)


async def news_or_poll(event: asyncio.Event, poll_s: float) -> None:
    """Wait for a notification, or until the next poll is due."""
    await wait_or_timeout(event, poll_s)
    event.clear()

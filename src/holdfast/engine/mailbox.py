"""The mailbox of a process: receives the store's notifications from every partition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.model.ids import new_id
from holdfast.store import channels
from holdfast.store.store import Store


class Mailbox:
    """Listens on as many partitions as needed, over the one subscription connection."""

    def __init__(self, store: Store, on_message: Callable[[str], None]) -> None:
        self._store = store
        self._handle = on_message
        self._opened: dict[str, asyncio.Future[None]] = {}
        #: The name by which the store knows it.
        self.process: str = new_id()

    async def open(self, tag: str) -> None:
        """Listen on a partition, once for all waiters in it."""
        channel = channels.mailbox(tag, self.process)
        if channel not in self._opened:
            opening = self._store.subscriptions.add([channel], self._on_message)
            self._opened[channel] = asyncio.ensure_future(opening)
        await asyncio.shield(self._opened[channel])

    def is_open(self, tag: str) -> bool:
        """Whether it listens on a partition."""
        opened = self._opened.get(channels.mailbox(tag, self.process))
        if opened is None or not opened.done() or opened.cancelled():
            return False
        return opened.exception() is None

    async def close(self) -> None:
        """Stop listening."""
        await asyncio.gather(*self._opened.values(), return_exceptions=True)
        await self._store.subscriptions.remove(self._opened, self._on_message)
        self._opened.clear()

    def _on_message(self, _channel: str, message: str) -> None:
        self._handle(message)

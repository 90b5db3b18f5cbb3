"""Wake-ups: many listeners on one connection. They can be lost, so listeners also poll slowly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from holdfast.store.valkey.client import Client

#: Called with the channel and the message.
Handler = Callable[[str, str], None]


class Subscriptions:
    """The channels that have listeners."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._handlers: dict[str, list[Handler]] = {}

    async def add(self, channels: Iterable[str], handler: Handler) -> None:
        """Call the handler for every message on these channels."""
        fresh = []
        for channel in channels:
            if channel not in self._handlers:
                self._handlers[channel] = []
                fresh.append(channel)
            self._handlers[channel].append(handler)
        if fresh:
            await self._client.subscribe({c: partial(self._dispatch, c) for c in fresh})

    async def remove(self, channels: Iterable[str], handler: Handler) -> None:
        """Stop calling the handler."""
        unheard = []
        for channel in channels:
            handlers = self._handlers[channel]
            handlers.remove(handler)
            if not handlers:
                del self._handlers[channel]
                unheard.append(channel)
        if unheard:
            await self._client.unsubscribe(unheard)

    def _dispatch(self, channel: str, message: str) -> None:
        for handler in tuple(self._handlers.get(channel, ())):
            handler(channel, message)

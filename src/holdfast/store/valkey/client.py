"""Calls and subscriptions, on one server or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.errors import StoreIncompatible, StoreUnavailable
from holdfast.store.valkey import failures
from holdfast.store.valkey.acked_node import node_at
from holdfast.store.valkey.cluster import Cluster
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.listener import Listener
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.urls import StoreUrl
from holdfast.store.valkey.wire import Command, Dial

#: How long a single try may hang.
TRY_TIMEOUT_MS = 5_000
#: How long a server may take to accept a connection.
_CONNECT_TIMEOUT_S = 1.0


class Client:
    """A connection to a server or cluster. Make it with `connect`."""

    def __init__(self, url: StoreUrl, dial: Dial) -> None:
        self.cluster = url.cluster
        source = Cluster(url.addresses, dial) if url.cluster else node_at(url.addresses[0], dial)
        self._source = source
        self._listener = Listener(source, dial)

    @classmethod
    async def connect(
        cls, url: StoreUrl, *, timeout_ms: int, try_timeout_ms: int = TRY_TIMEOUT_MS
    ) -> Client:
        """Connect once; raises StoreUnavailable if the server cannot be reached."""
        dial = Dial(
            tls=url.tls,
            username=url.username,
            password=url.password,
            connect_timeout_s=min(timeout_ms / 1000, _CONNECT_TIMEOUT_S),
            timeout_s=try_timeout_ms / 1000,
            ack=url.ack,
        )
        client = cls(url, dial)
        try:
            await client._source.open()
        except CallFailed as failure:
            await client.close()
            raise _refused(url, failure) from failure
        return client

    async def close(self) -> None:
        """Close all connections; calls under way fail."""
        await self._listener.close()
        await self._source.close()

    async def call(self, args: Command) -> Any:
        """Send a command, together with others of the same moment. Raises CallFailed."""
        return await self._source.call(args)

    async def on_primaries(self, args: Command) -> list[Any]:
        """Send a command to every primary; returns their replies."""
        return await self._source.on_primaries(args)

    def primaries(self) -> list[Node]:
        """Return every primary, for commands that are about one server."""
        return self._source.primaries()

    async def subscribe(self, handlers: dict[str, Callable[[str], None]]) -> None:
        """Call a handler for each message on its channel, until unsubscribed."""
        await self._listener.subscribe(handlers)

    async def unsubscribe(self, channels: Sequence[str]) -> None:
        """Stop listening to channels."""
        self._listener.unsubscribe(channels)


def _refused(url: StoreUrl, failure: CallFailed) -> StoreIncompatible | StoreUnavailable:
    message = f"cannot connect to {url}: {failure.text}"
    if any(word in failure.text for word in failures.REFUSED_LOGIN):
        return StoreIncompatible(message, store=str(url))
    if not failure.answered:
        places = ", ".join(f"{host}:{port}" for host, port in url.addresses)
        message = f"no Valkey server answers at {places}: start one, or check the address"
        return StoreUnavailable(message, addresses=places)
    return StoreUnavailable(message, store=str(url))

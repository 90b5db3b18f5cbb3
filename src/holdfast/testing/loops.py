"""Clients for processes with several event loops, as test runs have.

The client library reads all replies of a process in one event loop, the first that connected. A
test run has a loop for some tests and another for others, of which one runs at a time; replies
that are read by a loop that stands still would never arrive. So the running loop takes over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from glide import glide_client as library

from holdfast.store.client import Client, Command


def read_replies_here() -> None:
    """Have replies read by the running loop, unless the one that reads them runs as well."""
    loop = asyncio.get_running_loop()
    with library._async_pipe_lock:  # noqa: SLF001 - the library has no other way
        reader = library._async_pipe_loop  # noqa: SLF001
        if reader is None or reader is loop or reader.is_running():
            return
        pipe = library._async_pipe_read_fd  # noqa: SLF001
        if not reader.is_closed():
            reader.remove_reader(pipe)
        loop.add_reader(pipe, library._on_async_pipe_readable)  # noqa: SLF001
        library._async_pipe_loop = loop  # noqa: SLF001


class LoopClient(Client):
    """A client that works whenever its own loop runs. Call `read_replies_here` to connect."""

    def __init__(self, *, cluster: bool) -> None:
        super().__init__(cluster=cluster)
        self._loop = asyncio.get_running_loop()

    async def call(self, args: Command) -> Any:
        """Send a command."""
        read_replies_here()
        return await super().call(args)

    async def on_primaries(self, args: Command) -> list[Any]:
        """Send a command to every primary."""
        read_replies_here()
        return await super().on_primaries(args)

    async def subscribe(self, handlers: dict[str, Callable[[str], None]]) -> None:
        """Call a handler for each message on its channel."""
        read_replies_here()
        await super().subscribe(handlers)

    async def unsubscribe(self, channels: Sequence[str]) -> None:
        """Forget channels."""
        read_replies_here()
        await super().unsubscribe(channels)

    async def close(self) -> None:
        """Close the connection."""
        read_replies_here()
        await super().close()

    def _on_message(self, message: Any, context: Any) -> None:
        """Handle a message in our own loop, whichever has read it."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(super()._on_message, message, context)

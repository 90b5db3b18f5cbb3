"""Chooses the event loop that reads the replies.

The client library reads all replies of a process in one event loop, the first that connected. If
that loop has ended or is not running, as happens in tests and with SyncClients, replies for other
loops would never arrive. So a loop that sends takes over from one that does not run.
"""

from __future__ import annotations

import asyncio

from glide import glide_client as library


def read_replies_here() -> None:
    """Read replies in the running loop, unless the loop that reads them is running, too."""
    loop = asyncio.get_running_loop()
    reader = library._async_pipe_loop  # noqa: SLF001 - the library has no other way
    if reader is None or reader is loop or reader.is_running():
        return
    with library._async_pipe_lock:  # noqa: SLF001
        pipe = library._async_pipe_read_fd  # noqa: SLF001
        if not reader.is_closed():
            reader.remove_reader(pipe)
        loop.add_reader(pipe, library._on_async_pipe_readable)  # noqa: SLF001
        library._async_pipe_loop = loop  # noqa: SLF001

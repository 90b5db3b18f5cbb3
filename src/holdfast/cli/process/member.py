"""One of the processes that `--processes` starts, as the process itself sees it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator

import msgspec

from holdfast.concurrency import stop

_VARIABLE = "HOLDFAST_MEMBER"
_LOOK_S = 1.0


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """What a process knows of the crew that it belongs to."""

    #: From 1 on; it stays the same when the process is replaced.
    number: int
    #: The process that started it.
    parent: int
    #: Where to report that it has started.
    ready_fd: int
    #: The port that all of them serve.
    port: int | None = None
    #: Where each leaves its metrics for the others.
    folder: str | None = None

    def to_environment(self) -> dict[str, str]:
        """Return the variables that make a process this member."""
        return {_VARIABLE: msgspec.json.encode(self).decode()}

    @classmethod
    def from_environment(cls) -> Member | None:
        """Return the member that this process is. Processes that it starts are none."""
        text = os.environ.pop(_VARIABLE, None)
        return None if text is None else msgspec.json.decode(text, type=cls)

    def report(self) -> None:
        """Report that this process has started."""
        with contextlib.suppress(OSError):
            os.write(self.ready_fd, b"1")
            os.close(self.ready_fd)


def number_of(member: Member | None) -> int | None:
    """Return the number of a process that is one of several."""
    return None if member is None else member.number


@contextlib.asynccontextmanager
async def following(member: Member | None) -> AsyncIterator[None]:
    """Drain this process when the one that started it is gone, because that may be killed."""
    if member is None:
        yield
        return
    watching = asyncio.ensure_future(_watch(member.parent))
    try:
        yield
    finally:
        await stop(watching)


async def _watch(parent: int) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing signals it
        await asyncio.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGTERM)

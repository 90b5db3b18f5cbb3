"""How the words of a model are shown while it writes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from holdfast.worker.streaming import Stream


class Pen(Protocol):
    """Writes a text that others read while it grows, as a reply of a chat does."""

    text: str

    async def write(self, text: str) -> None:
        """Append to the text."""
        ...

    async def restart(self) -> None:
        """Begin the text again: another attempt says other words."""
        ...


class StreamPen:
    """Writes to the stream of the execution."""

    def __init__(self, stream: Stream, node: str) -> None:
        self._stream = stream
        self._node = node
        self.text: str = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the frames as they are."""

    async def write(self, text: str) -> None:
        """Append to the text."""
        self.text += text
        await self._stream.text(text)

    async def restart(self) -> None:
        """Notify readers that the node begins again."""
        self.text = ""
        await self._stream.event("restart", {"node": self._node})


@contextlib.asynccontextmanager
async def saying(
    block: contextlib.AbstractAsyncContextManager[Pen],
    say: Callable[[Mapping[str, Any]], Awaitable[None]] | None,
) -> AsyncIterator[Pen]:
    """Write, and say the whole text when it is complete, if it is a reply."""
    async with block as pen:
        yield pen
    if say is not None:
        await say({"text": pen.text})

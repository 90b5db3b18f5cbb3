"""A reply that is written while the user reads it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self

from holdfast.model.sessions import NewReply
from holdfast.worker.messages import Buttons, reply_payload
from holdfast.worker.outcomes import Interruption
from holdfast.worker.streaming import Stream
from holdfast.worker.turns import Turns

#: What a function returns whose text is streamed.
Pieces = AsyncIterator[str] | Iterable[str]


class Writing:
    """A reply in the making: `async with chat.typing() as out: await out.write("...")`.

    After a crash the block runs again, and the reply begins again under the same number.
    """

    def __init__(
        self, turns: Turns, stream: Stream, *, markdown: bool = False, buttons: Buttons = ()
    ) -> None:
        self._turns = turns
        self._stream = stream
        self._markdown = markdown
        self._buttons = buttons
        #: The text so far; set it to replace what the reply says in the end.
        self.text: str = ""
        #: The number of the reply in the transcript.
        self.number: int = 0
        self._end = ""
        self._is_written = False
        self._shown = 0

    async def __aenter__(self) -> Self:
        step, self.number = await self._turns.open()
        self._end = f"{step}:end"
        self._is_written = self._turns.was_written(self._end)
        return self

    async def write(self, text: str) -> None:
        """Append to the reply."""
        self.text += text
        # A repeated run of a reply that is complete shows nothing again.
        if text and not self._is_written:
            await self._stream.reply(self.number, text, self._shown, markdown=self._markdown)
            self._shown += len(text)

    async def restart(self) -> None:
        """Begin the reply again, such as when a function that failed is retried."""
        self.text, self._shown = "", 0

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Interruption):
            return
        payload = reply_payload(self.text or "...", markdown=self._markdown, buttons=self._buttons)
        reply = NewReply(step=self._end, payload=payload, number=self.number)
        if error is None:
            self._turns.complete(reply)
        else:
            self._turns.leave_unfinished(reply)

    async def write_all(
        self, fn: Callable[..., Pieces | Awaitable[Pieces]], args: tuple[Any, ...]
    ) -> str:
        """Write what a function yields; returns all of it."""
        pieces = fn(*args)
        if inspect.isawaitable(pieces):
            pieces = await pieces
        self.text = ""
        if isinstance(pieces, AsyncIterator):
            async for piece in pieces:
                await self.write(piece)
        else:
            for piece in pieces:
                await self.write(piece)
        return self.text

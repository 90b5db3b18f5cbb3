"""A session, live: new lines and states, and the text of a reply while it is being streamed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any

from holdfast.api import Engine, Tail
from holdfast.errors import ExecutionNotFound, TooManyTails
from holdfast.model.frames import END, RETRY, Frame
from holdfast.model.sessions import Session, SessionState, Transcript

#: The type of frames that carry a part of a reply.
REPLY = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyPart:
    """A part of a reply that is being streamed, in order."""

    #: The number that the reply has in the transcript.
    number: int
    text: str
    #: Where in the reply it begins; 0: the reply begins, perhaps again, after a crash.
    start: int
    #: Whether the text is Markdown.
    markdown: bool = False


class _Parts:
    """Reads the stream of the execution that is under way."""

    def __init__(self, engine: Engine) -> None:
        self._streams = engine.streams
        self._execution: str | None = None
        self._tail: Tail | None = None
        self._position = 0
        #: The next frames; None while nothing can come.
        self.coming: asyncio.Future[Any] | None = None

    async def follow(self, session: Session) -> None:
        """Read along while a turn runs."""
        execution = session.execution
        if execution != self._execution:
            self.close()
            self._execution, self._position = execution, 0
        if execution is None or session.state is not SessionState.RUNNING:
            self.close()
        elif self._tail is None:
            # Without a tail, a reader gets the reply as a whole.
            with contextlib.suppress(ExecutionNotFound, TooManyTails):
                self._tail = await self._streams.tail(execution, after=self._position)
                self.coming = asyncio.ensure_future(self._tail.next())

    def take(self, *, after: int) -> list[ReplyPart]:
        """Return the parts that came, of replies after a line, and wait for more."""
        coming, tail = self.coming, self._tail
        if coming is None or tail is None:
            return []
        frames: list[Frame] = [] if coming.exception() else list(coming.result())
        if not frames or frames[-1].type in {END, RETRY}:
            self.close()
        else:
            self._position = frames[-1].id
            self.coming = asyncio.ensure_future(tail.next())
        return [part for part in map(_part, frames) if part is not None and part.number > after]

    def close(self) -> None:
        """Read no more."""
        if self._tail is not None:
            self._tail.close()
        if self.coming is not None:
            self.coming.cancel()
        self._tail, self.coming = None, None


def _part(frame: Frame) -> ReplyPart | None:
    if frame.type != REPLY:
        return None
    value = frame.json()
    return ReplyPart(
        number=value["number"],
        text=value["text"],
        start=value["start"],
        markdown=value.get("markdown", False),
    )


async def watch(
    engine: Engine, session_id: str, *, after: int = 0
) -> AsyncGenerator[Transcript | ReplyPart]:
    """Yield lines after a number, changes of the state, and parts of the reply being streamed.

    Lines come in order, each once and when it is complete. Parts come before the line that has
    the whole text; a reader that joins in between gets the parts from the start of that reply.
    Raises SessionNotFound.
    """
    lines = engine.sessions.follow(session_id, after=after)
    parts = _Parts(engine)
    coming = asyncio.ensure_future(_next(lines))
    try:
        while True:
            awaited = {coming} if parts.coming is None else {coming, parts.coming}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if parts.coming is not None and parts.coming.done():
                for part in parts.take(after=after):
                    yield part
            if coming.done():
                found = coming.result()
                if found is None:
                    return
                if found.entries:
                    after = found.entries[-1].number
                yield found
                await parts.follow(found.session)
                coming = asyncio.ensure_future(_next(lines))
    finally:
        parts.close()
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        close = getattr(lines, "aclose", None)
        if close is not None:
            await close()


async def _next(lines: AsyncIterator[Transcript]) -> Transcript | None:
    return await anext(lines, None)

"""The turns of a conversation: what it says is gathered, and written before it waits.

A reply is a step, so a run that is repeated writes it once. Replies are written with the wait that
ends the turn, before the next step is recorded, and otherwise at the end of the loop's tick.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Protocol

from holdfast.api import Engine
from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.executions import Claim
from holdfast.model.sessions import MessageWait, NewReply, Turned
from holdfast.outages import level
from holdfast.tracing import Trace
from holdfast.worker import logs
from holdfast.worker.journal import Journal
from holdfast.worker.outcomes import AttemptLost, AttemptSuspended

log: logging.Logger = logging.getLogger(__name__)


class Conversing(Protocol):
    """What turns need of the conversation that they belong to."""

    lost: bool
    trace: Trace

    @property
    def claim(self) -> Claim:
        """The claim."""
        ...

    @property
    def journal(self) -> Journal:
        """The journal."""
        ...

    def register(self, step: str) -> None:
        """Say to the journal that the code asks for a step."""
        ...

    def holding(self) -> contextlib.AbstractContextManager[None]:
        """Make a call as the holder of the lease."""
        ...

    def lose(self) -> None:
        """Say that the lease is gone."""
        ...


class Turns:
    """The replies and waits of one run of a conversation."""

    def __init__(self, chat: Conversing, engine: Engine) -> None:
        self._chat = chat
        self._engine = engine
        self._said: list[NewReply] = []
        self._numbers: dict[str, int] = {}
        #: Completes a streamed reply whose block raised, once it is known that the run continues.
        self._unfinished: NewReply | None = None
        self._writing = asyncio.Lock()
        self._planned = False
        self._flushing: asyncio.Task[None] | None = None
        self._parked: asyncio.Future[bytes] | None = None
        #: The step at which the conversation is parked.
        self.parked_at: str | None = None
        #: Called when it is parked; None: it is not kept, and runs again from its journal.
        self.on_parked: Callable[[], None] | None = None

    def say(self, payload: bytes) -> str:
        """Gather a reply; returns the name of its step."""
        self.settle()
        step = self._chat.journal.number("say")
        if not self.is_recorded(step):
            self._gather(NewReply(step=step, payload=payload))
        return step

    async def open(self) -> tuple[str, int]:
        """Reserve a number for a reply that is streamed; returns its step and the number."""
        self.settle()
        step = self._chat.journal.number("say")
        if not self.is_recorded(step):
            self._gather(NewReply(step=step, payload=b"{}", open=True))
        return step, await self.number_of(step)

    def complete(self, reply: NewReply) -> None:
        """Gather the text of a reply that was opened."""
        if not self.is_recorded(reply.step):
            self._gather(reply)

    def leave_unfinished(self, reply: NewReply) -> None:
        """Complete a reply as it is, unless the run ends here and is tried again."""
        self._unfinished = reply

    def settle(self) -> None:
        """Register that the run continues: a streamed reply stays as far as it came."""
        if self._unfinished is not None:
            reply, self._unfinished = self._unfinished, None
            self.complete(reply)

    def is_recorded(self, step: str) -> bool:
        """Ask the journal for a reply; keeps its number if it was written before."""
        journal = self._chat.journal
        self._chat.register(step)
        try:
            recorded = journal.find(step)
        finally:
            journal.settle()
        if recorded is not None:
            self._numbers[step] = int(recorded)
        return recorded is not None

    def was_written(self, step: str) -> bool:
        """Whether an earlier run wrote a reply that this one has not asked for yet."""
        return self._chat.journal.has(step)

    async def number_of(self, step: str) -> int:
        """Return the number of a reply."""
        if step not in self._numbers:
            await self.flush()
        return self._numbers[step]

    def known_numbers(self, steps: list[str]) -> set[int]:
        """Return the numbers of replies that are written."""
        return {self._numbers[step] for step in steps if step in self._numbers}

    def _gather(self, reply: NewReply) -> None:
        self._said.append(reply)
        if not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._start_flush)

    @property
    def is_full(self) -> bool:
        """Whether no more replies fit into one call."""
        return len(self._said) >= bounds.REPLIES

    def _start_flush(self) -> None:
        self._planned = False
        # Who writes now also writes what comes meanwhile.
        if self._said and not self._writing.locked() and not self._chat.lost:
            self._flushing = asyncio.ensure_future(self._flush_quietly())

    async def _flush_quietly(self) -> None:
        """Write what was said; if that fails, the next call or the end of the turn does."""
        try:
            await self.flush()
        except AttemptLost:
            pass
        except HoldfastError as error:
            fields = logs.fields(self._chat.claim)
            log.log(level(error), "replies wait for the store: %s", error, extra=fields)

    async def flush(self) -> None:
        """Write everything that was said."""
        async with self._writing:
            while self._said and not self._chat.lost:
                await self._write(None)

    async def _write(self, wait: MessageWait | None) -> Turned:
        replies = self._said[: bounds.REPLIES]
        claim = self._chat.claim
        with self._chat.holding():
            turned = await self._engine.sessions.turn(claim.id, claim.lease, replies, wait)
        del self._said[: len(replies)]
        for reply, number in zip(replies, turned.numbers, strict=True):
            self._numbers[reply.step] = number
        return turned

    async def wait(self, wait: MessageWait) -> bytes:
        """Write what was said and wait for a message; returns what is recorded of it."""
        self.settle()
        async with self._writing:
            while len(self._said) > bounds.REPLIES:
                await self._write(None)
            # The span ends where the lease is given back, not when the message comes.
            with self._chat.trace.wait("message"):
                turned = await self._write(wait)
        if turned.received is not None:
            return turned.received
        if wait.kept and self.on_parked is not None:
            return await self._park(wait.step, self.on_parked)
        raise AttemptSuspended(f"waits for {wait.step}")

    async def _park(self, step: str, on_parked: Callable[[], None]) -> bytes:
        """Hold the coroutine here, without a lease, until the worker claims it again."""
        self._parked = asyncio.get_running_loop().create_future()
        self.parked_at = step
        on_parked()
        try:
            return await self._parked
        except asyncio.CancelledError as error:
            # Such as a timeout around the wait: without a lease, nothing may go on from here.
            self._chat.lose()
            raise AttemptLost("the wait for a message was cancelled") from error
        finally:
            self._parked = self.parked_at = None

    def resume(self, received: bytes) -> None:
        """Let the coroutine continue with what came."""
        if self._parked is not None and not self._parked.done():
            self._parked.set_result(received)
            self.parked_at = None

    def drop(self) -> None:
        """End a parked coroutine: the conversation continues from its journal."""
        self._chat.lose()
        if self._parked is not None and not self._parked.done():
            self._parked.set_exception(AttemptSuspended("the coroutine is not kept any more"))

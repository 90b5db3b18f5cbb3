"""Parked conversations: coroutines that a worker keeps while they wait for a message.

A conversation that waits holds no lease and no slot. The worker that ran it keeps its coroutine,
so the next message continues it without its journal. Any of them may be dropped at any time: its
conversation then runs again from the journal, here or elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any

from holdfast.model.executions import Claim
from holdfast.worker.chat import Chat
from holdfast.worker.outcomes import AttemptSuspended

log: logging.Logger = logging.getLogger(__name__)

#: How many a worker keeps.
DEFAULT_KEPT = 1_000
#: How long dropped coroutines may take to end when the worker stops.
_GRACE_S = 2.0


class Kept:
    """The coroutine of a conversation, which outlives the leases under which it runs."""

    def __init__(
        self, chat: Chat, coroutine: Coroutine[Any, Any, Any], on_parked: Callable[[Kept], None]
    ) -> None:
        self.chat = chat
        self._on_parked = on_parked
        loop = asyncio.get_running_loop()
        self._turn: asyncio.Future[None] = loop.create_future()
        self.body: asyncio.Task[Any] = loop.create_task(coroutine)
        self.body.add_done_callback(self._ended)
        chat.keep(self.body, self._parked)

    def _ended(self, body: asyncio.Task[Any]) -> None:
        if not body.cancelled():
            # The turn that runs raises the error; a coroutine that was dropped has no turn.
            body.exception()
        self._end_turn()

    def _parked(self) -> None:
        self._on_parked(self)
        self._end_turn()

    def _end_turn(self) -> None:
        if not self._turn.done():
            self._turn.set_result(None)

    def can_resume(self, claim: Claim) -> bool:
        """Whether a claim brings what this coroutine waits for."""
        is_same = claim.kept and claim.id == self.chat.id and not self.chat.lost
        return is_same and self.chat.parked_at in claim.steps

    def resume(self) -> None:
        """Let it continue with what its claim brought."""
        self._turn = asyncio.get_running_loop().create_future()
        self.chat.resume()

    async def turn(self) -> Any:
        """Run until the function ends, and return its result; AttemptSuspended: it is parked."""
        try:
            await self._turn
        except asyncio.CancelledError:
            self.body.cancel()
            await asyncio.wait({self.body})
            raise
        if self.body.done():
            return self.body.result()
        raise AttemptSuspended("waits for a message")

    async def turn_ended(self) -> None:
        """Wait until its turn has ended."""
        await asyncio.wait({self._turn})

    def drop(self) -> None:
        """End it."""
        if self.chat.parked_at is None:
            self.body.cancel()
        self.chat.drop()


class Parking:
    """The conversations that a worker keeps; the longest parked one goes first."""

    def __init__(self, most: int) -> None:
        self.most = most
        #: By session, of which at most one execution has not ended.
        self._parked: OrderedDict[str, Kept] = OrderedDict()
        #: Those whose turn runs now.
        self._running: dict[str, Kept] = {}
        self._dropped: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._parked)

    async def take(self, claim: Claim, session: str) -> Kept | None:
        """Return the parked coroutine that continues with a claim; another one is dropped."""
        running = self._running.get(session)
        if running is not None and running.chat.id != claim.id:
            # A newer message ended it; heartbeats would notice only later.
            self._drop(running)
        elif running is not None and claim.kept:
            # The message came before the answer that its turn has ended.
            await running.turn_ended()
        kept = self._parked.pop(session, None)
        if kept is None:
            return None
        if not kept.can_resume(claim):
            self._drop(kept)
            return None
        kept.chat.adopt(claim)
        return kept

    async def run(self, chat: Chat, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a conversation until it ends or is parked, as Kept.turn does."""
        return await self._run(Kept(chat, coroutine, self._park))

    async def resume(self, kept: Kept) -> Any:
        """Run the next turn of a conversation that was parked."""
        kept.resume()
        return await self._run(kept)

    async def _run(self, kept: Kept) -> Any:
        session = kept.chat.session.id
        self._running[session] = kept
        try:
            return await kept.turn()
        finally:
            if self._running.get(session) is kept:
                del self._running[session]

    def _park(self, kept: Kept) -> None:
        session = kept.chat.session.id
        earlier = self._parked.pop(session, None)
        if earlier is not None:
            self._drop(earlier)
        self._parked[session] = kept
        while len(self._parked) > self.most:
            _, oldest = self._parked.popitem(last=False)
            self._drop(oldest)

    def drop(self, kept: Kept) -> None:
        """End a coroutine that was taken."""
        self._drop(kept)

    def _drop(self, kept: Kept) -> None:
        kept.drop()
        self._dropped.add(kept.body)
        kept.body.add_done_callback(self._dropped.discard)

    async def close(self) -> None:
        """Drop all; returns when they have ended."""
        while self._parked:
            _, kept = self._parked.popitem()
            self._drop(kept)
        if self._dropped:
            _, left = await asyncio.wait(set(self._dropped), timeout=_GRACE_S)
            for body in left:
                body.cancel()
            if left:
                log.warning("%d parked conversations have not ended in time", len(left))

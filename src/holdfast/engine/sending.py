"""The sending of replies: each session's in order, by one process at a time, with retries.

    written -> pending -> (a sender takes the session) -> sent
                             | fails -> pending, later
                             | must wait -> pending, later, for a day at most
                             | fails too often, or for ever -> dead; `resend` makes it pending again

A process that dies while it sends leaves its hand-out to expire; another one then sends the same
reply with the same idempotency key.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial

from typing_extensions import override

from holdfast.concurrency import stop
from holdfast.errors import HoldfastError, LeaseLost, ReplyRejected, SessionNotFound
from holdfast.model.ids import new_id
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.sessions import OutgoingReply, Send
from holdfast.outages import level
from holdfast.services.timer_loop import TimerLoop
from holdfast.store import channels
from holdfast.store.sessions import Outgoing
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: A reply is dead after this many tries, about an hour after the first.
POLICY = RetryPolicy(max_attempts=12, backoff=Backoff(initial_ms=1_000, max_ms=600_000, jitter=0.2))
#: A sender that takes longer has failed; its hand-out holds longer than that.
SEND_TIMEOUT_S = 30.0
LEASE_MS = 60_000
#: A wake-up may be lost; this bounds how long that can go unnoticed.
_POLL_S = 10.0
_SESSIONS_IN_CALL = 100
_ERROR_CHARS = 500


class Later(Exception):
    """A reply must wait, through no fault of its own: the try does not count."""

    def __init__(self, problem: str, delay_ms: int) -> None:
        super().__init__(problem)
        self.delay_ms: int = delay_ms


class Sending(TimerLoop):
    """Delivers the replies of some senders, for as long as it runs."""

    name = "sender"
    place = "partition"
    #: Sessions whose replies are sent at once.
    most: int = 256
    lease_ms: int = LEASE_MS

    def __init__(self, store: Store, senders: Sequence[str], policy: RetryPolicy = POLICY) -> None:
        super().__init__(store.subscriptions, {channels.replies(tag): tag for tag in store.tags()})
        self._sessions = store.sessions
        self._senders = tuple(senders)
        self._policy = policy
        self._open: set[asyncio.Task[None]] = set()

    @override
    async def run(self) -> None:
        try:
            await super().run()
        finally:
            await stop(*self._open)

    @override
    async def _tick(self, place: str) -> float:
        room = min(_SESSIONS_IN_CALL, self.most - len(self._open))
        if room <= 0:
            return _POLL_S
        handed, sleep_ms = await self._sessions.outgoing(
            place, new_id(), self._senders, lease_ms=self.lease_ms, limit=room
        )
        for outgoing in handed:
            # A receiver that takes long delays no other session.
            task = asyncio.ensure_future(self._send_all(outgoing))
            self._open.add(task)
            task.add_done_callback(partial(self._ended, place))
        if handed:
            return 0
        return _POLL_S if sleep_ms is None else min(_POLL_S, sleep_ms / 1000)

    def _ended(self, place: str, task: asyncio.Task[None]) -> None:
        """Look again: replies may have been written meanwhile, and there is room."""
        self._open.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.log(
                level(error) if isinstance(error, HoldfastError) else logging.ERROR,
                "the sending of a session was interrupted: %s",
                error,
                extra={self.place: place},
            )
        self.wake(place)

    async def _send_all(self, outgoing: Outgoing) -> None:
        """Send the replies of a session, in order, up to the first that must wait."""
        try:
            for reply in outgoing.replies:
                if not await self._send(outgoing, reply):
                    return
        except (LeaseLost, SessionNotFound) as error:
            log.info("another process sends, or the session is gone: %s", error)

    @abstractmethod
    async def _deliver(self, outgoing: Outgoing, reply: OutgoingReply) -> None:
        """Give a reply to its receiver; what is raised makes it wait for its next try."""

    async def _send(self, outgoing: Outgoing, reply: OutgoingReply) -> bool:
        """Try to send one reply; returns whether the next may follow."""
        outcome, problem, delay_ms = "sent", "", None
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._deliver(outgoing, reply)
        except Later as later:
            outcome, problem, delay_ms = "later", str(later)[:_ERROR_CHARS], later.delay_ms
        except Exception as error:  # noqa: BLE001 - whatever a sender raises, the reply is kept
            problem = f"{type(error).__name__}: {error}"[:_ERROR_CHARS]
            delay_ms = self._policy.delay_ms(reply.tries + 1, reply.session, reply.number)
            outcome = "retry"
            if delay_ms is None or isinstance(error, ReplyRejected):
                outcome, delay_ms = "dead", None
        if outcome != "sent":
            log.warning(
                "reply %s of session %s was not sent (try %d, %s): %s",
                reply.number,
                reply.session,
                reply.tries + 1,
                "given up" if outcome == "dead" else "tried again later",
                problem,
            )
        await self._settle(outgoing, reply, outcome, delay_ms, problem)
        return outcome in {"sent", "dead"}

    async def _settle(
        self,
        outgoing: Outgoing,
        reply: OutgoingReply,
        outcome: str,
        delay_ms: int | None,
        problem: str,
    ) -> None:
        is_last = reply is outgoing.replies[-1] or outcome == "later"
        await self._sessions.settle(
            reply.session,
            outgoing.fence,
            reply.number,
            outcome,
            # After the last one of this hand-out, replies that were written since may be taken.
            lease_ms=0 if is_last else self.lease_ms,
            delay_ms=delay_ms,
            error=problem,
        )


class AppSending(Sending):
    """Delivers replies through functions of an app, by the names of their senders."""

    def __init__(
        self, store: Store, senders: Mapping[str, Send], policy: RetryPolicy = POLICY
    ) -> None:
        super().__init__(store, tuple(senders), policy)
        self._functions = dict(senders)

    @override
    async def _deliver(self, outgoing: Outgoing, reply: OutgoingReply) -> None:
        await self._functions[outgoing.sender](reply)

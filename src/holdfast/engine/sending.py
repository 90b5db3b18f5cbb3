"""The sending of replies: each session's in order, by one process at a time, with retries.

    written -> pending -> (a sender takes the session) -> sent
                             | fails -> pending, later
                             | fails too often, or for ever -> dead; `resend` makes it pending again

A process that dies while it sends leaves its hand-out to expire; another one then sends the same
reply with the same idempotency key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from typing_extensions import override

from holdfast.errors import LeaseLost, ReplyRejected, SessionNotFound
from holdfast.model.ids import new_id
from holdfast.model.retry import Backoff, RetryPolicy
from holdfast.model.sessions import OutgoingReply, Send
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


class Sending(TimerLoop):
    """Delivers replies through senders, for as long as it runs."""

    name = "sender"
    place = "partition"

    def __init__(
        self, store: Store, senders: Mapping[str, Send], policy: RetryPolicy = POLICY
    ) -> None:
        super().__init__(store.subscriptions, {channels.replies(tag): tag for tag in store.tags()})
        self._sessions = store.sessions
        self._senders = dict(senders)
        self._policy = policy

    @override
    async def _tick(self, place: str) -> float:
        handed, sleep_ms = await self._sessions.outgoing(
            place, new_id(), tuple(self._senders), lease_ms=LEASE_MS, limit=_SESSIONS_IN_CALL
        )
        await asyncio.gather(*map(self._send_all, handed))
        if handed:
            return 0
        return _POLL_S if sleep_ms is None else min(_POLL_S, sleep_ms / 1000)

    async def _send_all(self, outgoing: Outgoing) -> None:
        """Send the replies of a session, in order, up to the first that must wait."""
        try:
            for reply in outgoing.replies:
                if not await self._send(outgoing, reply):
                    return
        except (LeaseLost, SessionNotFound) as error:
            log.info("another process sends, or the session is gone: %s", error)

    async def _send(self, outgoing: Outgoing, reply: OutgoingReply) -> bool:
        """Try to send one reply; returns whether the next may follow."""
        outcome, problem, delay_ms = "sent", "", None
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._senders[outgoing.sender](reply)
        except Exception as error:  # noqa: BLE001 - whatever a sender raises, the reply is kept
            problem = f"{type(error).__name__}: {error}"[:_ERROR_CHARS]
            delay_ms = self._policy.delay_ms(reply.tries + 1, reply.session, reply.number)
            outcome = "retry"
            if delay_ms is None or isinstance(error, ReplyRejected):
                outcome, delay_ms = "dead", None
            log.warning(
                "reply %s of session %s was not sent (try %d, %s): %s",
                reply.number,
                reply.session,
                reply.tries + 1,
                "tried again later" if outcome == "retry" else "given up",
                problem,
            )
        await self._sessions.settle(
            reply.session,
            outgoing.fence,
            reply.number,
            outcome,
            # After the last one of this hand-out, replies that were written since may be taken.
            lease_ms=0 if reply is outgoing.replies[-1] else LEASE_MS,
            delay_ms=delay_ms,
            error=problem,
        )
        return outcome != "retry"

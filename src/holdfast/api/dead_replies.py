"""Dead replies: what no sender could deliver. `sessions.resend` sends one again."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.dead_replies import DeadReplyPage


class DeadReplies(ABC):
    """The replies of all sessions that their senders gave up on."""

    @abstractmethod
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> DeadReplyPage:
        """Return a page of dead replies, the last to die first.

        A reply is listed until it is sent again, its provider reports that it arrived after all, or
        it leaves the transcript.
        """

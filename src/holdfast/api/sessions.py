"""Sessions: deliver messages, run turns, read transcripts, hand over to a person."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from holdfast.model import bounds, checks
from holdfast.model.executions import Lease
from holdfast.model.sessions import (
    Activity,
    Delivered,
    Entry,
    MessageWait,
    NewDelivery,
    NewReply,
    Send,
    Session,
    SessionPage,
    StateValue,
    Transcript,
    TurnAnswer,
    Turned,
    ValueChange,
)


class Sessions(ABC):
    """Operations on sessions."""

    # Talking to a conversation

    async def deliver(
        self,
        name: str,
        activity: Activity,
        *,
        sender: str | None = None,
        revision: str | None = None,
    ) -> Delivered:
        """Deliver a message to a conversation that workers publish under a name.

        One call of the store resumes the execution that waits, buffers the message for the one
        that runs, or starts one. The same activity id again gets the first answer. `sender`
        names the senders that deliver the replies; without it, readers fetch them. `revision` is
        the one on which an execution starts if the message starts one.

        Raises:
            ConversationNotFound: no worker ever published a conversation of this name.
            SessionBusy: a turn runs, and the conversation rejects messages meanwhile.
            SessionFull: the session has too many messages that were not received yet.
            RevisionDraining: the message would start an execution on a revision that drains.
        """
        return await self._deliver(NewDelivery(name, activity, sender, revision))

    @abstractmethod
    async def _deliver(self, new: NewDelivery) -> Delivered:
        """Deliver a message."""

    async def send(
        self,
        name: str,
        activity: Activity,
        *,
        sender: str | None = None,
        revision: str | None = None,
        wait_ms: int = 10_000,
    ) -> TurnAnswer:
        """Deliver a message, and wait until its turn ends; returns the replies so far.

        Raises what `deliver` raises.
        """
        new = NewDelivery(name, activity, sender, revision)
        checks.integer("wait_ms", wait_ms, 0, bounds.SEND_WAIT_MS)
        return await self._send(new, wait_ms)

    @abstractmethod
    async def _send(self, new: NewDelivery, wait_ms: int) -> TurnAnswer:
        """Deliver a message, and wait."""

    # Reading

    @abstractmethod
    async def get(self, session_id: str) -> Session:
        """Return what is known of a session. Raises SessionNotFound."""

    @abstractmethod
    async def list(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        """Return a page of sessions, the most recently active first."""

    @abstractmethod
    async def latest(self, session_id: str, *, limit: int = 100) -> Transcript:
        """Return a session with the last lines of its transcript. Raises SessionNotFound."""

    @abstractmethod
    async def transcript(self, session_id: str, *, after: int = 0, limit: int = 100) -> Transcript:
        """Return the lines after a number. Raises SessionNotFound."""

    @abstractmethod
    def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Transcript]:
        """Yield new lines, and changes of the state, as they happen, without a gap.

        The first value has the lines after `after`; it may have none. Raises SessionNotFound,
        also when the session is erased meanwhile.
        """

    # Operating

    @abstractmethod
    async def say(
        self, session_id: str, payload: bytes, *, author: str = "operator", key: str | None = None
    ) -> Entry:
        """Write a reply as a person; the same key again writes it once. Raises SessionNotFound."""

    @abstractmethod
    async def handover(self, session_id: str, to: str | None, *, reason: str = "") -> Session:
        """Let a person answer (`to` is their name), or give the session back (None).

        While a person answers, messages only enter the transcript, which also notes who answers
        and why. Raises SessionNotFound.
        """

    @abstractmethod
    async def end(self, session_id: str, *, reason: str = "") -> Session:
        """Cancel what runs or waits, and drop buffered messages; the next message starts again.

        Raises SessionNotFound.
        """

    @abstractmethod
    async def erase(self, session_id: str) -> None:
        """Remove a session, its transcript, executions and files. Raises SessionNotFound.

        Repeated within an hour, it succeeds again.
        """

    @abstractmethod
    async def resend(self, session_id: str, number: int) -> None:
        """Send a dead reply once more; safe to repeat. Raises SessionNotFound, ReplyNotFound."""

    @abstractmethod
    def sending(self, senders: Mapping[str, Send]) -> AbstractAsyncContextManager[None]:
        """Deliver replies through senders, by their name, for as long as the block runs.

        Replies of a session are sent in order, by one process at a time. A sender that raises is
        tried again with backoff, 12 times in all; then the reply is dead, and the next one follows.
        Raises NotOverHttp where the store is not near.
        """

    # Running turns: for the holder of the lease

    @abstractmethod
    async def turn(
        self,
        execution_id: str,
        lease: Lease,
        replies: Sequence[NewReply] = (),
        wait: MessageWait | None = None,
    ) -> Turned:
        """Write replies, each once per step, and then perhaps wait: all in one call.

        A wait takes a message that has arrived, or gives the lease back until one does.
        """

    @abstractmethod
    async def get_state(self, execution_id: str, lease: Lease, step: str, name: str) -> StateValue:
        """Return a value of the session's state, and record it under a step."""

    @abstractmethod
    async def set_state(
        self, execution_id: str, lease: Lease, step: str, change: ValueChange
    ) -> StateValue:
        """Set or remove a value, and record that under a step.

        If the value does not have the expected version, nothing changes: the answer has the value
        that is there, with `changed` false.
        """

    @abstractmethod
    async def welcome(self, execution_id: str, *, done: bool = False) -> bool:
        """Return whether the session of an execution is the one that welcomes its user.

        That is the first session with the user at the endpoint, in this env and tenant, that asks;
        after it was `done`, none. One that asks and does not do it gives way after a day. Safe to
        repeat. Raises ExecutionNotFound, SessionNotFound.
        """

    @abstractmethod
    async def state(self, session_id: str) -> builtins.list[tuple[str, StateValue]]:
        """Return the whole state of a session, by name. Raises SessionNotFound."""

"""Sessions: every operation, checked at its entry."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from holdfast import api
from holdfast.engine.courier import Courier
from holdfast.engine.files import Files
from holdfast.engine.sending import AppSending
from holdfast.engine.waiters import Waiters, news_or_poll
from holdfast.errors import (
    BackendFailed,
    ConversationNotFound,
    ExecutionNotFound,
    InvalidInput,
    OutcomeUnknown,
    SessionNotFound,
)
from holdfast.model import bounds, calls, checks
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.moments import to_ms
from holdfast.model.revisions import capability
from holdfast.model.session_keys import session_of
from holdfast.model.sessions import (
    Delivered,
    Effect,
    Entry,
    MessageWait,
    NewDelivery,
    NewReply,
    Send,
    Session,
    SessionPage,
    SessionState,
    StateValue,
    Transcript,
    TurnAnswer,
    Turned,
    ValueChange,
)
from holdfast.model.states import State
from holdfast.services import Supervisor
from holdfast.store.store import Store

#: A reader says again that it listens before the store forgets it, after a minute.
_LISTEN_S = 20.0
#: Notifications can be lost in a failover, so every reader also looks this often.
_POLL_S = 5.0
_PAGE = 100


class Sessions(api.Sessions):
    """Sessions on an open store."""

    def __init__(self, store: Store, courier: Courier, services: Supervisor, files: Files) -> None:
        self._store = store
        self._sessions = store.sessions
        self._courier = courier
        self._services = services
        self._files = files
        self._waiters = Waiters(store)

    async def close(self) -> None:
        """Stop listening."""
        await self._waiters.close()

    # Talking to a conversation

    @override
    async def _deliver(self, new: NewDelivery, process: str = "") -> Delivered:
        """Deliver a message; a process is notified of what follows."""
        name, activity, revision = new.name, new.activity, new.revision
        tenant = activity.key.tenant
        declared = await self._store.declarations.conversation(tenant, name)
        if declared is None:
            raise ConversationNotFound(
                f"no worker ever published a conversation {name!r}", name=name
            )
        conversation, item = declared
        if revision is not None:
            item = replace(item, requires=(*item.requires, capability(revision)))
        delivered = await self._sessions.deliver(
            activity,
            item,
            busy=conversation.busy,
            apology=conversation.apology,
            sender=new.sender,
            process=process,
        )
        if delivered.effect is Effect.INTERRUPTED and (item.quotas or item.budgets):
            self._courier.poke(self._store.tag_of(delivered.session))
        return delivered

    @override
    async def _send(self, new: NewDelivery, wait_ms: int) -> TurnAnswer:
        session_id = new.activity.key.id
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + wait_ms / 1000
        async with self._waiters.waiter(session_id) as news:
            process = self._waiters.process
            delivered = await self._deliver(new, process)
            self._waiters.notify(session_id, knowing=news)
            # A message that is known already was answered before the store noted who listens.
            listened_at = -math.inf if delivered.duplicate else loop.time()
            is_answered = delivered.duplicate or delivered.execution is None
            while True:
                left_s = ends_at - loop.time()
                if left_s > 0 and not is_answered:
                    await news_or_poll(news, min(left_s, _POLL_S))
                is_answered = False
                process = ""
                if loop.time() - listened_at > _LISTEN_S:
                    process, listened_at = self._waiters.process, loop.time()
                answer = await self._answer(delivered, process)
                if answer.done or left_s <= 0:
                    return answer

    async def _answer(self, delivered: Delivered, process: str) -> TurnAnswer:
        """Return the replies to a message so far; a process is notified of more."""
        number = delivered.number
        found = await self._sessions.read(
            delivered.session, after=number - 1, limit=_PAGE, process=process
        )
        entries = builtins.list(found.entries)
        while found.more:
            found = await self._sessions.read(
                delivered.session, after=entries[-1].number, limit=_PAGE
            )
            entries += found.entries
        session = found.session
        own = entries[0].turn if entries and entries[0].turn is not None else None
        turn = number if own is None else own
        replies = tuple(
            entry
            for entry in entries
            if entry.direction == "out" and entry.turn == turn and not entry.open
        )
        # A buffered message may be received by an execution that started later.
        execution = (entries[0].execution if entries else None) or delivered.execution
        if execution is None:
            state, done = "responded", True
        else:
            # Another execution may have begun, after this message was answered. Without one, what
            # was not received was dropped.
            done = (
                session.turn > turn
                or session.execution is None
                or (session.turn == turn and session.state is not SessionState.RUNNING)
            )
            state = await self._state(execution, session)
        return TurnAnswer(
            session=delivered.session,
            execution=execution,
            state=state,
            replies=replies,
            done=done,
            revision=session.revision,
        )

    async def _state(self, execution: str, session: Session) -> str:
        """Return the state of the execution that received a message."""
        if execution == session.execution and session.execution_state is not None:
            return session.execution_state.value
        try:
            return (await self._store.queries.describe(execution)).state.value
        except ExecutionNotFound:
            # It ended so long ago that it was removed.
            return State.COMPLETED.value

    # Reading

    @override
    async def get(self, session_id: str) -> Session:
        _check_id(session_id)
        return (await self._sessions.read(session_id)).session

    @override
    async def list(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> SessionPage:
        calls.check_page(limit, tenant)
        if user is not None:
            checks.text("user", user, bounds.ID_CHARS, empty=False)
        before = None if cursor is None else _parse_cursor(cursor)
        items = await self._sessions.page(tenant=tenant, user=user, before=before, limit=limit + 1)
        following = None
        if len(items) > limit:
            last = items[limit - 1]
            following = f"{to_ms(last.active_at)}.{last.id}"
        return SessionPage(items=tuple(items[:limit]), next_cursor=following)

    @override
    async def latest(self, session_id: str, *, limit: int = 100) -> Transcript:
        _check_id(session_id)
        checks.integer("limit", limit, 0, bounds.PAGE_ITEMS)
        return await self._sessions.read(session_id, after=-limit, limit=limit)

    @override
    async def transcript(self, session_id: str, *, after: int = 0, limit: int = 100) -> Transcript:
        _check_id(session_id)
        checks.integer("after", after, 0, bounds.AMOUNT)
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        return await self._sessions.read(session_id, after=after, limit=limit)

    @override
    async def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Transcript]:
        _check_id(session_id)
        checks.integer("after", after, 0, bounds.AMOUNT)
        async with self._waiters.waiter(session_id) as news:
            shown: Session | None = None
            while True:
                found = await self._sessions.read(
                    session_id, after=after, limit=_PAGE, process=self._waiters.process
                )
                complete = _complete(found.entries)
                if complete:
                    after = complete[-1].number
                if complete or shown is None or _moved(shown, found.session):
                    shown = found.session
                    yield replace(found, entries=complete)
                if not (found.more and complete):
                    await news_or_poll(news, _POLL_S)

    # Operating

    @override
    async def say(
        self, session_id: str, payload: bytes, *, author: str = "operator", key: str | None = None
    ) -> Entry:
        _check_id(session_id)
        checks.json_object("payload", payload, bounds.MESSAGE_BYTES)
        checks.text("author", author, bounds.NAME_CHARS, empty=False)
        if key is not None:
            checks.text("key", key, bounds.ID_CHARS, empty=False)
        return await self._sessions.say(session_id, key or new_id(), author, payload)

    @override
    async def handover(self, session_id: str, to: str | None, *, reason: str = "") -> Session:
        _check_id(session_id)
        if to is not None:
            checks.text("to", to, bounds.NAME_CHARS, empty=False)
        checks.text("reason", reason, bounds.REASON_CHARS)
        return await self._sessions.handover(session_id, to, reason)

    @override
    async def end(self, session_id: str, *, reason: str = "") -> Session:
        _check_id(session_id)
        checks.text("reason", reason, bounds.REASON_CHARS)
        session = await self._sessions.finish(session_id, reason)
        self._courier.poke(self._store.tag_of(session_id))
        return session

    @override
    async def erase(self, session_id: str) -> None:
        _check_id(session_id)
        await self._sessions.erase(session_id)
        try:
            await self._files.erase(session_id)
        except BackendFailed as error:
            message = f"the session is erased, but its files may be left: repeat the call ({error})"
            raise OutcomeUnknown(message) from error
        self._courier.poke(self._store.tag_of(session_id))

    @override
    async def resend(self, session_id: str, number: int) -> None:
        _check_id(session_id)
        checks.integer("number", number, 1, bounds.AMOUNT)
        await self._sessions.resend(session_id, number)

    @override
    @contextlib.asynccontextmanager
    async def sending(self, senders: Mapping[str, Send]) -> AsyncIterator[None]:
        for name in checks.mapping("senders", senders):
            checks.name("sender", name)
        service = AppSending(self._store, senders)
        self._services.start(service)
        try:
            yield
        finally:
            await self._services.stop(service.name)

    # Running turns

    @override
    async def turn(
        self,
        execution_id: str,
        lease: Lease,
        replies: Sequence[NewReply] = (),
        wait: MessageWait | None = None,
    ) -> Turned:
        calls.check_holder(execution_id, lease)
        for reply in replies:
            checks.instance("reply", reply, NewReply)
        checks.integer("replies", len(replies), 0, bounds.REPLIES)
        turned = await self._sessions.turn(execution_id, lease, replies, wait)
        if turned.suspended:
            self._courier.poke(self._store.tag_of(execution_id))
        return turned

    @override
    async def get_state(self, execution_id: str, lease: Lease, step: str, name: str) -> StateValue:
        _check_state(execution_id, lease, step)
        checks.text("name", name, bounds.NAME_CHARS, empty=False)
        return await self._sessions.state(execution_id, lease, step, name, op="get")

    @override
    async def set_state(
        self, execution_id: str, lease: Lease, step: str, change: ValueChange
    ) -> StateValue:
        _check_state(execution_id, lease, step)
        value = checks.instance("change", change, ValueChange).value
        return await self._sessions.state(
            execution_id,
            lease,
            step,
            change.name,
            op="remove" if value is None else "set",
            value=value or b"",
            expected=change.expected,
            ttl_ms=change.ttl_ms,
        )

    @override
    async def welcome(self, execution_id: str, *, done: bool = False) -> bool:
        session_id = session_of(checks.execution_id("id", execution_id))
        if session_id is None:
            await self._store.queries.describe(execution_id)
            message = f"execution {execution_id} belongs to no session"
            raise SessionNotFound(message, id=execution_id)
        key = (await self.get(session_id)).key
        return await self._sessions.welcome(key.visitor, session_id, done=done)

    @override
    async def state(self, session_id: str) -> builtins.list[tuple[str, StateValue]]:
        _check_id(session_id)
        return await self._sessions.values(session_id)


def _check_id(session_id: str) -> None:
    checks.execution_id("id", session_id)


def _check_state(execution_id: str, lease: Lease, step: str) -> None:
    calls.check_holder(execution_id, lease)
    checks.text("step", step, bounds.STEP_NAME_CHARS, empty=False)


def _parse_cursor(cursor: str) -> tuple[int, str]:
    at, _, session_id = cursor.partition(".")
    if not at.isdecimal() or not session_id:
        message = "cursor: must come from an earlier page"
        raise InvalidInput(message, field="cursor")
    return int(at), session_id


def _complete(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries before one whose text is still being streamed."""
    for index, entry in enumerate(entries):
        if entry.open:
            return tuple(entries[:index])
    return tuple(entries)


def _moved(before: Session, now: Session) -> bool:
    return (before.state, before.execution, before.person) != (now.state, now.execution, now.person)

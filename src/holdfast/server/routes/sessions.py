"""Sessions: their transcripts, live events, and what operators do with them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.sessions import Session
from holdfast.operate.live_session import ReplyPart, watch
from holdfast.server.auth.owners import SESSION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.http.sse import LAST_EVENT_ID, MEDIA_TYPE, EventStream, Sse
from holdfast.server.views.fields import (
    Body,
    Cursor,
    Key,
    PageLimit,
    Query,
    Reason,
    Tenants,
    View,
)
from holdfast.server.views.seen import PayloadField
from holdfast.server.views.sessions import (
    EntryView,
    NamedValueView,
    SessionDetail,
    SessionPageView,
    SessionView,
    StatePage,
    TranscriptView,
)

routes: Routes = Routes("sessions", "Conversations with one user each, and their transcripts.")

LineNumber = Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]
Person = Annotated[str, Meta(min_length=1, max_length=bounds.NAME_CHARS)]
#: The one who answers when no person does.
FLOW = "flow"


class ListQuery(Query):
    """Which sessions."""

    tenant: Tenants | None = None
    user: Key | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


@routes.get("/v1/sessions", query_example={"user": "ann"})
async def list_sessions(call: Call, query: ListQuery) -> SessionPageView:
    """List sessions, the most recently active first."""
    page = await call.engine.sessions.list(
        tenant=call.tenant, user=query.user, limit=query.limit, cursor=query.cursor
    )
    return SessionPageView(
        items=[SessionView.of(session) for session in page.items], next_cursor=page.next_cursor
    )


class ShowQuery(Query):
    """How much of the transcript."""

    #: The last lines.
    lines: Annotated[int, Meta(ge=0, le=bounds.PAGE_ITEMS)] = 100


@routes.get("/v1/sessions/{id}", owner=SESSION, query_example={"lines": "10"})
async def show(call: Call, id: str, query: ShowQuery) -> SessionDetail:
    """Show a session and the last lines of its transcript."""
    return SessionDetail.with_lines(await call.engine.sessions.latest(id, limit=query.lines))


class TranscriptQuery(Query):
    """Which lines."""

    #: Those after this one; `cursor` says the same.
    after: LineNumber | None = None
    limit: PageLimit = 50
    cursor: Annotated[str, Meta(pattern="^[0-9]{1,16}$")] | None = None


@routes.get("/v1/sessions/{id}/transcript", owner=SESSION, query_example={"after": "0"})
async def transcript(call: Call, id: str, query: TranscriptQuery) -> TranscriptView:
    """Read a transcript: messages of the user (`in`), replies (`out`) and notes (`note`), in order.

    A note says that a person answers, or the conversation again, and why; the user does not see it.

    `delivery` tells what became of a reply that a sender delivers: `pending`, `sent` or `dead`.
    """
    after = query.after if query.after is not None else int(query.cursor or 0)
    found = await call.engine.sessions.transcript(id, after=after, limit=query.limit)
    items = [EntryView.of(entry) for entry in found.entries]
    return TranscriptView(
        items=items, next_cursor=str(found.entries[-1].number) if found.more else None
    )


class EventsQuery(Query):
    """Where to continue; the header `Last-Event-ID` says the same."""

    after: LineNumber | None = None


@routes.get(
    "/v1/sessions/{id}/events",
    owner=SESSION,
    errors=(errors.RateLimited,),
    media_type=MEDIA_TYPE,
)
async def follow(call: Call, id: str, query: EventsQuery) -> EventStream:
    """Follow a session: its lines, then what happens, until the session is erased.

    Events: `message` is a line of the transcript, with its number as the id of the event; `frame`
    has a part of the reply that is being streamed, before the `message` that has its whole text;
    `state` tells what the session does now, first of all and at every change. A client that comes
    back with `Last-Event-ID` misses no line and gets none twice; the parts of an unfinished reply
    come again from its start.
    """
    await call.engine.sessions.get(id)
    return EventStream(call, _live(call, id, _after(call, query)))


def _after(call: Call, query: EventsQuery) -> int:
    if query.after is not None:
        return query.after
    given = call.request.headers.get(LAST_EVENT_ID)
    if given is None:
        return 0
    if not given.isascii() or not given.isdecimal() or int(given) > bounds.AMOUNT:
        message = f"{LAST_EVENT_ID}: is not the number of a line"
        raise errors.InvalidInput(message, field=LAST_EVENT_ID)
    return int(given)


class FrameEvent(View):
    """A part of the reply that is being streamed."""

    #: Of the reply in the transcript.
    number: int
    text: PayloadField
    #: Where in the reply it begins; 0: the reply begins, perhaps again, after a crash.
    start: int


async def _live(call: Call, session_id: str, after: int) -> AsyncIterator[Sse]:
    known: tuple[Any, ...] | None = None
    events = watch(call.engine, session_id, after=after)
    async with contextlib.aclosing(events):
        async for found in events:
            if isinstance(found, ReplyPart):
                view = FrameEvent(number=found.number, text=found.text, start=found.start)
                yield Sse("frame", view)
                continue
            if known is None:
                known = _standing(found.session)
                yield Sse("state", _state(found.session))
            for entry in found.entries:
                yield Sse("message", EntryView.of(entry), str(entry.number))
            if known != _standing(found.session):
                known = _standing(found.session)
                yield Sse("state", _state(found.session))


def _standing(session: Session) -> tuple[Any, ...]:
    # The turn: a reader must not take the state before a message for the one after it.
    return (session.state, session.execution, session.execution_state, session.person, session.turn)


def _state(session: Session) -> dict[str, Any]:
    return {**msgspec.to_builtins(SessionView.of(session)), "node": None}


class SayBody(Body):
    """What a person says: a text, or a payload with more than that."""

    text: Annotated[str, Meta(max_length=bounds.MESSAGE_BYTES)] | None = None
    #: A JSON object: `text`, `card`, `buttons`, `data`.
    payload: Raw | UnsetType = UNSET
    #: Your name for it: sent again, it is written once.
    idempotency_key: Key | None = None
    #: Who speaks.
    author: Person = "operator"

    def said(self) -> bytes:
        """Return the payload."""
        if (self.text is None) == (self.payload is UNSET):
            raise errors.InvalidInput("text: give a text or a payload, not both", field="text")
        if self.payload is UNSET:
            return msgspec.json.encode({"text": self.text})
        return bytes(self.payload)


_OPERATE: dict[str, Any] = {"role": Role.OPERATOR, "owner": SESSION}


@routes.post(
    "/v1/sessions/{id}/messages",
    errors=(errors.StoreFull,),
    example={"text": "This is Ann from support. Let me look.", "author": "ann"},
    **_OPERATE,
)
async def say(call: Call, id: str, body: SayBody) -> EntryView:
    """Say something to the user, as a person; the conversation does not receive it."""
    entry = await call.engine.sessions.say(
        id, body.said(), author=body.author, key=body.idempotency_key
    )
    return EntryView.of(entry)


class HandoverBody(Body):
    """Who answers from now on."""

    #: The name of a person, or `flow`: the conversation answers again.
    to: Person
    reason: Reason = ""


@routes.post(
    "/v1/sessions/{id}/handover",
    errors=(errors.StoreFull,),
    example={"to": "ann", "reason": "a refund"},
    **_OPERATE,
    takes_key=True,
)
async def handover(call: Call, id: str, body: HandoverBody) -> SessionView:
    """Let a person answer, or give the session back to its conversation with `flow`.

    While a person answers, messages of the user only enter the transcript.
    """
    to = None if body.to == FLOW else body.to
    return SessionView.of(await call.engine.sessions.handover(id, to, reason=body.reason))


class EndBody(Body):
    """Why."""

    reason: Reason = ""


@routes.post("/v1/sessions/{id}/end", example={"reason": "solved"}, **_OPERATE, takes_key=True)
async def end(call: Call, id: str, body: EndBody) -> SessionView:
    """Cancel what runs or waits, and drop buffered messages; the next message starts again."""
    return SessionView.of(await call.engine.sessions.end(id, reason=body.reason))


@routes.delete("/v1/sessions/{id}", status=204, **_OPERATE)
async def erase(call: Call, id: str) -> None:
    """Remove a session, its transcript and its executions. This cannot be undone.

    Repeated within an hour, it succeeds again.
    """
    await call.engine.sessions.erase(id)


class ResendBody(Body):
    """Which reply."""

    number: Annotated[int, Meta(ge=1, le=bounds.AMOUNT)]


class ResentView(View):
    """A reply that is on its way again."""

    number: int
    delivery: str


@routes.post(
    "/v1/sessions/{id}/resend",
    errors=(errors.ReplyNotFound, errors.StoreFull),
    example={"number": 2},
    **_OPERATE,
)
async def resend(call: Call, id: str, body: ResendBody) -> ResentView:
    """Send a dead reply once more; safe to repeat."""
    await call.engine.sessions.resend(id, body.number)
    return ResentView(number=body.number, delivery="pending")


@routes.get("/v1/sessions/{id}/state", owner=SESSION)
async def state(call: Call, id: str) -> StatePage:
    """Read the state that a conversation keeps of its session, by name."""
    found = await call.engine.sessions.state(id)
    return StatePage(items=[NamedValueView.of(name, value) for name, value in found])

"""The web chat: its page, and what the page calls. A cookie says whose session it is."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, UnsetType
from starlette.responses import Response, StreamingResponse

from holdfast import errors
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.files import File, FileLimits
from holdfast.model.sessions import Entry, Session, SessionState
from holdfast.operate.live_session import ReplyPart, watch
from holdfast.server.chat.page import page
from holdfast.server.chat.visit import Visit
from holdfast.server.chat.visitors import Visitor
from holdfast.server.http import static
from holdfast.server.http.attachment import attachment
from holdfast.server.http.call import Call
from holdfast.server.http.declare import ANYTHING, Answer, Routes, Scope
from holdfast.server.http.incoming import Incoming
from holdfast.server.http.sse import MEDIA_TYPE, EventStream, Sse
from holdfast.server.views.fields import Body, Key, Query, View
from holdfast.server.views.files import FileView

routes: Routes = Routes("chat", "The web chat, for people without an API key.")

#: Lines of the transcript that a page gets at a time.
PAGE = 50
LineNumber = Annotated[int, Meta(ge=0, le=bounds.AMOUNT)]
_AT_DOOR = (
    errors.WebChatNotFound,
    errors.Forbidden,
    errors.RateLimited,
    errors.StoreUnavailable,
)
_VISITING = (*_AT_DOOR, errors.InvalidToken)


@routes.get(
    "/chat/{env}/{name}",
    scope=Scope.PUBLIC,
    errors=(errors.WebChatNotFound, errors.RateLimited, errors.StoreUnavailable),
    media_type="text/html",
)
async def show(call: Call, env: str, name: str) -> Response:
    """Show the chat. It is the same page for every visitor."""
    call.count_address()
    return page((await call.services.doors.find(env, name)).origins)


@routes.get("/chat/embed.js", scope=Scope.PUBLIC, media_type="text/javascript")
async def embed(call: Call) -> Response:
    """Read the script that puts a chat on a page of yours."""
    return static.find("embed.js").response(call.request)


class LineView(View):
    """A line of the transcript, as the visitor sees it."""

    number: int
    at: datetime
    #: A message of the visitor, or a reply.
    direction: Literal["in", "out"]
    payload: Any
    #: Of a message: the page's id for it.
    id: str | None = None
    #: Who wrote a reply that the conversation did not write.
    author: str | None = None

    @classmethod
    def of(cls, entry: Entry) -> LineView:
        """Show a line."""
        return cls(
            number=entry.number,
            at=entry.at,
            direction="in" if entry.direction == "in" else "out",
            payload=Raw(entry.payload),
            id=entry.activity,
            author=entry.author,
        )


def _lines(entries: tuple[Entry, ...]) -> list[LineView]:
    """Return what a visitor sees: no notes, which are for operators, and no unfinished replies."""
    shown: list[LineView] = []
    for entry in entries:
        if entry.open:
            break
        if entry.direction != "note":
            shown.append(LineView.of(entry))
    return shown


class StandingView(View):
    """What a session does now."""

    state: SessionState
    #: Who answers, while a person does.
    person: str | None = None

    @classmethod
    def of(cls, session: Session) -> StandingView:
        """Show the state."""
        return cls(state=session.state, person=session.person)


class TakesView(View):
    """The files that a chat takes."""

    #: Of one file.
    most_bytes: int
    #: Of one message.
    most_files: int
    #: The endings of their names.
    extensions: list[str]

    @classmethod
    def of(cls, limits: FileLimits) -> TakesView | None:
        """Show the limits; None: no file is taken."""
        if not limits.most_bytes:
            return None
        return cls(
            most_bytes=limits.most_bytes,
            most_files=bounds.MESSAGE_FILES,
            extensions=limits.extensions,
        )


class VisitView(View):
    """A session as a page shows it at first."""

    #: The last lines.
    lines: list[LineView]
    #: Whether there are lines before these.
    more: bool
    standing: StandingView
    #: Changes when the visitor starts over.
    conversation: int
    #: The most bytes that a message may have.
    most_bytes: int = bounds.MESSAGE_BYTES
    #: The files that the chat takes; null: none.
    files: TakesView | None = None


_CHANGING: dict[str, Any] = {"scope": Scope.PUBLIC, "role": Role.SUBMITTER}
#: Of calls whose body says nothing.
_SMALL = 4096


@routes.post("/chat/{env}/{name}/session", scope=Scope.PUBLIC, errors=_AT_DOOR, most_bytes=_SMALL)
async def begin(call: Call, env: str, name: str) -> Answer[VisitView]:
    """Begin or continue a visit: the answer sets the cookie that the other calls need."""
    visit = await Visit.at(call, env, name)
    visitor = visit.welcome()
    view = await _visit(visit, visitor)
    return Answer(view, 200, visit.remember(visitor))


async def _visit(visit: Visit, visitor: Visitor) -> VisitView:
    files, number = TakesView.of(visit.door.files), visitor.number
    try:
        found = await visit.call.engine.sessions.latest(visitor.key.id, limit=PAGE)
    except errors.SessionNotFound:
        nothing = StandingView(state=SessionState.IDLE)
        return VisitView(lines=[], more=False, standing=nothing, conversation=number, files=files)
    entries = found.entries
    return VisitView(
        lines=_lines(entries),
        more=bool(entries) and entries[0].number > 1 and len(entries) == PAGE,
        standing=StandingView.of(found.session),
        conversation=number,
        files=files,
    )


class MessageBody(Body):
    """What a visitor says: a text, a button that was pressed, a form that was filled in."""

    #: The page's id for it: sent again, it is delivered once.
    id: Key
    text: Annotated[str, Meta(max_length=bounds.MESSAGE_BYTES)] | UnsetType = UNSET
    #: The value of the button.
    choice: Annotated[str, Meta(max_length=bounds.ID_CHARS)] | UnsetType = UNSET
    #: The values of the form.
    data: Raw | UnsetType = UNSET
    #: The number of the reply that has the button or the form.
    reply: Annotated[int, Meta(ge=1, le=bounds.AMOUNT)] | UnsetType = UNSET
    #: The ids of files that were uploaded for it.
    files: Annotated[tuple[Key, ...], Meta(max_length=bounds.MESSAGE_FILES)] = ()

    def payload(self, files: Sequence[File]) -> dict[str, Any]:
        """Return what the conversation receives."""
        parts = {name: getattr(self, name) for name in ("text", "choice", "data", "reply")}
        given = {name: part for name, part in parts.items() if part is not UNSET}
        if files:
            given["files"] = [file.reference() for file in files]
        if not given.keys() & {"text", "choice", "data", "files"}:
            raise errors.InvalidInput("text: a message must say something", field="text")
        return given


class ReceivedView(View):
    """The message is in the store, and reaches the conversation."""

    id: str


@routes.post(
    "/chat/{env}/{name}/messages",
    errors=(
        *_VISITING,
        errors.SessionBusy,
        errors.SessionFull,
        errors.WebChatUnavailable,
        errors.FileNotFound,
        errors.StoreFull,
    ),
    example={"id": "m-1", "text": "Hello"},
    most_bytes=2 * bounds.MESSAGE_BYTES,
    **_CHANGING,
)
async def say(call: Call, env: str, name: str, body: MessageBody) -> Answer[ReceivedView]:
    """Send a message. Replies come as events; repeat the call if you do not know its outcome."""
    visit = await Visit.at(call, env, name)
    files = [await visit.attached(file) for file in body.files]
    headers = await visit.deliver(body.id, body.payload(files))
    return Answer(ReceivedView(id=body.id), 200, headers)


class UploadQuery(Query):
    """How the file is called."""

    name: Annotated[str, Meta(min_length=1, max_length=bounds.REASON_CHARS)]


@routes.post(
    "/chat/{env}/{name}/files",
    errors=(
        *_VISITING,
        errors.FilesNotTaken,
        errors.FilesFull,
        errors.FileRefused,
        errors.BackendFailed,
    ),
    query_example={"name": "order.docx"},
    most_bytes=bounds.FILE_BYTES,
    **_CHANGING,
)
async def upload(call: Call, env: str, name: str, body: Incoming, query: UploadQuery) -> FileView:
    """Upload a file for a message, which then names its id. The body is the file itself."""
    visit = await Visit.at(call, env, name)
    session, limits = visit.session, visit.door.files
    if not limits.most_bytes:
        raise errors.FilesNotTaken("this chat takes no files")
    with call.services.uploads.one(session):
        pieces = body.pieces(limits.most_bytes)
        file = await call.engine.files.add(session, query.name, pieces, limits)
    return FileView.of(file)


@routes.get(
    "/chat/{env}/{name}/files/{file}",
    scope=Scope.PUBLIC,
    errors=(*_VISITING, errors.FileNotFound, errors.InvalidRecord, errors.BackendFailed),
    media_type=ANYTHING,
)
async def download(call: Call, env: str, name: str, file: str) -> StreamingResponse:
    """Read a file of the visitor's session."""
    visit = await Visit.at(call, env, name)
    files = call.engine.files
    found = await files.attached(visit.session, file)
    return attachment(found, files.content(visit.session, file))


class LinesQuery(Query):
    """Which lines."""

    #: Those before this one.
    before: Annotated[int, Meta(ge=1, le=bounds.AMOUNT)]


class LinesView(View):
    """Lines, in order."""

    items: list[LineView]
    #: Whether there are lines before these.
    more: bool


@routes.get(
    "/chat/{env}/{name}/lines",
    scope=Scope.PUBLIC,
    errors=(*_VISITING, errors.SessionNotFound),
    query_example={"before": "51"},
)
async def lines(call: Call, env: str, name: str, query: LinesQuery) -> LinesView:
    """Read earlier lines of the visitor's session."""
    visit = await Visit.at(call, env, name)
    last = query.before - 1
    after = max(0, last - PAGE)
    found = await call.engine.sessions.transcript(
        visit.session, after=after, limit=max(1, last - after)
    )
    entries = tuple(entry for entry in found.entries if entry.number <= last)
    return LinesView(items=_lines(entries), more=after > 0 and bool(entries))


class EventsQuery(Query):
    """Where to continue."""

    after: LineNumber = 0


@routes.get(
    "/chat/{env}/{name}/events",
    scope=Scope.PUBLIC,
    errors=(*_VISITING, errors.SessionNotFound),
    media_type=MEDIA_TYPE,
)
async def follow(call: Call, env: str, name: str, query: EventsQuery) -> EventStream:
    """Follow the visitor's session.

    Events: `line` is a line of the transcript, `part` a part of the reply that is being written,
    `standing` what the session does now, first of all and at every change. After a lost connection,
    continue with the number of the last line; parts of an unfinished reply come again.
    """
    visit = await Visit.at(call, env, name)
    await call.engine.sessions.get(visit.session)
    # Counted by address: visitors must not use up the streams of their tenant.
    events = _live(call, visit.session, query.after)
    return EventStream(call, events, caller=f"address {call.address}")


class PartView(View):
    """A part of the reply that is being written."""

    #: Of the reply in the transcript.
    number: int
    text: str
    #: Where in the reply it begins; 0: the reply begins, perhaps again, after a crash.
    start: int
    markdown: bool

    @classmethod
    def of(cls, part: ReplyPart) -> PartView:
        """Show a part."""
        return cls(number=part.number, text=part.text, start=part.start, markdown=part.markdown)


async def _live(call: Call, session_id: str, after: int) -> AsyncIterator[Sse]:
    known: tuple[Any, ...] | None = None
    events = watch(call.engine, session_id, after=after)
    async with contextlib.aclosing(events):
        async for found in events:
            if isinstance(found, ReplyPart):
                yield Sse("part", PartView.of(found))
                continue
            for line in _lines(found.entries):
                yield Sse("line", line, str(line.number))
            session = found.session
            standing = (session.state, session.person, session.turn)
            if known != standing:
                known = standing
                yield Sse("standing", StandingView.of(session))


@routes.post("/chat/{env}/{name}/restart", errors=_VISITING, most_bytes=_SMALL, **_CHANGING)
async def restart(call: Call, env: str, name: str) -> Answer[VisitView]:
    """Start over: end the conversation that is under way, and begin another with nothing in it."""
    visit = await Visit.at(call, env, name)
    with contextlib.suppress(errors.SessionNotFound):
        await call.engine.sessions.end(visit.session, reason="the visitor started over")
    visitor = visit.visitor.again(visit.now_ms)
    view = await _visit(visit, visitor)
    return Answer(view, 200, visit.remember(visitor))

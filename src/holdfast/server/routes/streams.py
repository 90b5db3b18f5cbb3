"""Streams: the frames that an execution emits while it runs, and its held document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, cast

from msgspec import UNSET, Meta, Raw, UnsetType

from holdfast import errors
from holdfast.engine.tails import Tail
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.frames import END, RETRY, Frame, number_of
from holdfast.model.log_lines import LogLine
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Routes
from holdfast.server.http.sse import LAST_EVENT_ID, MEDIA_TYPE, EventStream, Sse
from holdfast.server.routes.worker_calls import LEASE_EXAMPLE, LOST
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Body, Cursor, LeaseBody, PageLimit, Query, View
from holdfast.server.views.frames import FRAMES_BYTES, FrameBody
from holdfast.server.views.seen import Payload, PayloadField, PayloadObject
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("streams", "The frames that executions emit while they run.")

FrameId = Annotated[int, Meta(ge=0, le=bounds.FRAME_ID)]


class FramesBody(Body):
    """Frames to append, all or none."""

    lease: LeaseBody
    frames: Annotated[list[FrameBody], Meta(min_length=1, max_length=bounds.FRAMES_IN_BATCH)]
    #: Your name for this batch. Repeated within a minute, it gets its first answer again.
    key: Annotated[str, Meta(min_length=1, max_length=bounds.BATCH_KEY_CHARS)] | None = None


class AppendedView(View):
    """The ids of the first and last frame, and the version of the held document."""

    first: str
    last: str
    version: int


@routes.post(
    "/v1/executions/{id}/frames",
    role=Role.WORKER,
    owner=EXECUTION,
    errors=(*LOST, errors.StoreFull),
    most_bytes=FRAMES_BYTES,
    example={
        "lease": LEASE_EXAMPLE,
        "frames": [
            {"type": "text", "payload": "Once upon a time"},
            {"type": "summary", "payload": {"words": 4}},
        ],
    },
)
async def append(call: Call, id: str, body: FramesBody) -> AppendedView:
    """Append frames to the stream of an execution, all or none.

    A payload can be at most 64 KiB, and a batch 4 MiB.
    """
    frames = [frame.frame() for frame in body.frames]
    done = await call.engine.streams.append(id, body.lease.lease(), frames, key=body.key)
    return AppendedView(first=str(done.first), last=str(done.last), version=done.version)


class FrameView(View):
    """A frame."""

    #: Send it back as `after` or `Last-Event-ID` to continue after this frame.
    id: str
    attempt: int
    #: A type that can be appended, or `attempt`, which opens every attempt but the first.
    type: str
    payload: Payload
    at: str
    encoding: str | UnsetType = UNSET
    live: bool | UnsetType = UNSET

    @classmethod
    def of(cls, frame: Frame) -> FrameView:
        """Show a frame."""
        live = True if frame.live else UNSET
        shown = {**frame.view(), "id": str(frame.id), "at": rfc3339(frame.at)}
        return cls(**shown, live=live)


class FramePage(View):
    """Frames of all attempts, in order."""

    items: list[FrameView]
    next_cursor: str | None


class StreamQuery(Query):
    """Which frames to read."""

    #: Frames after this one. `cursor` and the header `Last-Event-ID` mean the same.
    after: FrameId | None = None
    limit: PageLimit = 50
    cursor: Annotated[str, Meta(pattern="^[0-9]{1,16}$")] | None = None


@routes.get(
    "/v1/executions/{id}/stream",
    owner=EXECUTION,
    errors=(errors.RateLimited, errors.TooManyTails, *CHANGING),
    query_example={"after": "0", "limit": "100"},
    media_type=MEDIA_TYPE,
)
async def read(call: Call, id: str, query: StreamQuery) -> FramePage:
    """Read the stream of an execution, or follow it live with `Accept: text/event-stream`.

    In a live stream, the id of an event is the id of its frame, and its name is the type of the
    frame. The last event is `end` with `{state}`. A client that reconnects with `Last-Event-ID`
    misses nothing.
    """
    after = _after(call, query)
    if MEDIA_TYPE in call.request.headers.get("accept", ""):
        if call.tenant is not None:
            # A stream that this process follows already is read without the store, so ask it first.
            await call.engine.owner(id)
        tail = await call.engine.streams.tail(id, after=after)
        try:
            return cast("FramePage", EventStream(call, _live(tail), close=tail.close))
        except BaseException:
            tail.close()
            raise
    page = await call.engine.streams.read(id, after=after, limit=query.limit)
    items = [FrameView.of(frame) for frame in page.frames]
    return FramePage(items=items, next_cursor=items[-1].id if page.more else None)


def _after(call: Call, query: StreamQuery) -> int:
    if query.after is not None:
        return query.after
    given = query.cursor or call.request.headers.get(LAST_EVENT_ID)
    if given is None:
        return 0
    after = number_of(given)
    if after is None:
        message = f"{LAST_EVENT_ID}: is not the number of a frame"
        raise errors.InvalidInput(message, field=LAST_EVENT_ID)
    return after


async def _live(tail: Tail) -> AsyncIterator[Sse]:
    async for frame in tail:
        if frame.type == RETRY:
            # The stream must make room. The client reconnects by itself where it was.
            return
        if frame.type == END:
            yield Sse(END, {"state": frame.state}, str(frame.id))
        else:
            view = FrameView.of(frame)
            yield Sse(frame.type, view, view.id)


class LogLineView(ModelView, model=LogLine):
    """A line that a task logged."""

    message: PayloadField
    traceback: PayloadField | None
    fields: PayloadObject


class LogPage(View):
    """Log lines of all attempts, in order."""

    items: list[LogLineView]
    next_cursor: str | None


class LogQuery(Query):
    """Which log lines to read."""

    #: Lines of this level and above.
    level: Literal["debug", "info", "warning", "error", "critical"] = "debug"
    limit: PageLimit = 50
    #: The cursor of the page before, or the id of a line to continue after.
    cursor: Cursor | None = None


@routes.get(
    "/v1/executions/{id}/logs", owner=EXECUTION, query_example={"level": "info", "limit": "100"}
)
async def logs(call: Call, id: str, query: LogQuery) -> LogPage:
    """Read the log lines of an execution that its workers kept, oldest first.

    To follow them live, read `log` events of its stream.
    """
    page = await call.engine.streams.logs(
        id, level=query.level, limit=query.limit, cursor=query.cursor
    )
    items = [LogLineView.of(line) for line in page.lines]
    return LogPage(items=items, next_cursor=page.next_cursor)


class SummaryView(View):
    """The held document and the number of patches applied to it."""

    document: PayloadObject
    version: int


@routes.get("/v1/executions/{id}/summary", owner=EXECUTION)
async def summary(call: Call, id: str) -> SummaryView:
    """Read the document that `summary` frames are merged into; at first `{}` with version 0."""
    document = await call.engine.streams.summary(id)
    return SummaryView(document=cast("Any", Raw(document.document)), version=document.version)

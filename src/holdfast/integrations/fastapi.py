"""Holdfast in a web application of FastAPI or Starlette.

    app = App()
    api = FastAPI(lifespan=lifespan(app))

Requests reach the app with `app_of` and `engine_of`, `follow` sends the stream of an execution as
server-sent events, and `webhook` verifies the messages that Holdfast sends to `on_end` and
`on_open`. Only types of Starlette occur here, so both frameworks are served alike.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse

from holdfast.api import Engine
from holdfast.api.streams import Tail
from holdfast.errors import (
    HoldfastError,
    InvalidInput,
    InvalidToken,
    NotFound,
    Refused,
    StoreUnavailable,
    TaskError,
)
from holdfast.model import webhooks
from holdfast.model.frames import END, RETRY, RETRY_AFTER_MS, Frame, number_of
from holdfast.worker.app import App
from holdfast.worker.worker import WorkerSettings

Lifespan = Callable[[Any], contextlib.AbstractAsyncContextManager[dict[str, Any]]]

#: Where the state of a request has the app.
STATE: Final = "holdfast"
#: The longest time between two writes, so that proxies keep the connection.
PING_S: Final = 15.0
#: The messages of Holdfast have no inputs or results, and are far smaller.
MOST_BYTES: Final = 1 << 20

_NOT_OPEN: Final = (
    "the application has no Holdfast: make it with lifespan=lifespan(app), and open it"
)


def lifespan(app: App, *, worker: WorkerSettings | bool = True) -> Lifespan:
    """Open an app while the web application runs, with a worker beside it.

    `worker=False` only submits and reads: workers are elsewhere.
    """

    @contextlib.asynccontextmanager
    async def running(_api: Any) -> AsyncIterator[dict[str, Any]]:
        settings = worker if isinstance(worker, WorkerSettings) else None
        async with app if worker is False else app.worker(settings):
            yield {STATE: app}

    return running


def app_of(connection: HTTPConnection) -> App:
    """Return the app of a request or WebSocket: `Annotated[App, Depends(app_of)]`."""
    app = getattr(connection.state, STATE, None)
    if not isinstance(app, App):
        raise TaskError(_NOT_OPEN)
    return app


def engine_of(connection: HTTPConnection) -> Engine:
    """Return the engine of a request or WebSocket: `Annotated[Engine, Depends(engine_of)]`."""
    return app_of(connection).engine


async def follow(request: Request, execution_id: str, *, tenant: str | None = None) -> Response:
    """Send the stream of an execution as server-sent events, from its first frame to its end.

    The id of an event is that of its frame, its name the type of the frame. A browser that lost its
    connection sends `Last-Event-ID` and gets the rest, each frame once. With `tenant`, executions
    of other tenants do not exist. Refusals are raised as HTTPException.
    """
    given = request.headers.get("last-event-id", "0")
    if given == END:
        # The browser has everything; this answer ends its attempts to connect again.
        return Response(status_code=204)
    after = number_of(given)
    if after is None:
        raise HTTPException(400, "Last-Event-ID is not the number of a frame")
    engine = engine_of(request)
    try:
        if tenant is not None and await engine.owner(execution_id) != tenant:
            raise HTTPException(404, f"there is no execution {execution_id}")
        tail = await engine.streams.tail(execution_id, after=after)
    except HoldfastError as error:
        raise _refusal(error) from error
    return StreamingResponse(
        _events(tail),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(tail: Tail) -> AsyncIterator[bytes]:
    try:
        yield b"retry: %d\n\n" % RETRY_AFTER_MS
        while not tail.done:
            frames = await tail.next(PING_S)
            for frame in frames:
                if frame.type == RETRY:
                    # The browser continues where it was, here or in another process.
                    return
                yield _event(frame)
            if not frames:
                yield b": ping\n\n"
    except NotFound:
        # It was removed while it was read; the next request says so.
        return
    finally:
        tail.close()


def _event(frame: Frame) -> bytes:
    """Return a frame in wire format; JSON has no line breaks, so it is one line of data."""
    id = str(frame.id)
    data: dict[str, Any] = {**frame.view(), "id": id}
    if frame.type == END:
        id, data = END, {"state": frame.state}
    elif frame.live:
        data["live"] = True
    head = f"id: {id}\nevent: {frame.type}\ndata: ".encode()
    return head + msgspec.json.encode(data) + b"\n\n"


def _refusal(error: HoldfastError) -> HTTPException:
    """Return the answer to a request that Holdfast refused."""
    kinds = ((NotFound, 404), (InvalidInput, 400), (Refused, 429), (StoreUnavailable, 503))
    status = next((status for kind, status in kinds if isinstance(error, kind)), 500)
    wait_ms = error.context.get("retry_after_ms")
    headers = None if wait_ms is None else {"Retry-After": str(-(-wait_ms // 1000))}
    return HTTPException(status, error.message, headers)


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """A message that Holdfast sent and signed."""

    #: The same each time that the message arrives.
    id: str
    #: `execution.ended`, `graph.ended` or `waitpoint.opened`.
    type: str
    #: All of it: `message.content["execution"]["id"]`.
    content: dict[str, Any]


def webhook(secret: str) -> Callable[[Request], Awaitable[WebhookMessage]]:
    """Return what verifies a message: `Annotated[WebhookMessage, Depends(webhook(SECRET))]`.

    `holdfast webhooks secret` prints the secret of a tenant. A message that this secret did not
    sign, or that is older than five minutes, is answered with 401. In Starlette, call it with the
    request.
    """
    # Refuses a secret of the wrong form now, and not with the first message.
    webhooks.headers((secret,), "", 0, b"")

    async def verified(request: Request) -> WebhookMessage:
        body = await _body(request)
        try:
            message_id = webhooks.verify(secret, request.headers, body, time.time())
        except InvalidToken as error:
            raise HTTPException(401, error.message) from error
        content = msgspec.json.decode(body, type=dict[str, Any])
        return WebhookMessage(message_id, content["type"], content)

    return verified


async def _body(request: Request) -> bytes:
    """Return the body; anybody may send one, so it must not be large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"the body is over the limit of {MOST_BYTES} bytes")
    return bytes(body)

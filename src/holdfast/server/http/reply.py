"""The reply of most calls: JSON, without headers of its own, written in one piece."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from holdfast.server.http.connections import CONNECTION, BoundedHttp

#: The part of a scope that has the lines of the head that all answers share.
SHARED = "holdfast.head"
_TYPE = (b"content-type", b"application/json")
_HEAD = b"content-type: application/json\r\ncontent-length: %d\r\n%b"


class Reply(Response):
    """JSON that is encoded already."""

    media_type = "application/json"

    def __init__(self, data: bytes, status: int) -> None:
        # The constructor of a response works out what is known here.
        self.status_code = status
        self.background = None
        self.body = data

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        connection: BoundedHttp | None = scope.get(CONNECTION)
        if connection is not None and scope["method"] != "HEAD":
            head = _HEAD % (len(self.body), scope[SHARED])
            if connection.answer(self.status_code, head, bytes(self.body)):
                return
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _TYPE]
        await super().__call__(scope, receive, send)

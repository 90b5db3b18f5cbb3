"""The reply of most calls: JSON, without headers of its own."""

from __future__ import annotations

from starlette.responses import Response

_TYPE = (b"content-type", b"application/json")


class Reply(Response):
    """JSON that is encoded already."""

    media_type = "application/json"

    def __init__(self, data: bytes, status: int) -> None:
        # The constructor of a response works out what is known here.
        self.status_code = status
        self.background = None
        self.body = data
        self.raw_headers = [(b"content-length", b"%d" % len(data)), _TYPE]

"""Files of sessions over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import final

import msgspec
from typing_extensions import override

from holdfast.api.files import Files
from holdfast.client.http import LOST, Http, path
from holdfast.errors import StoreUnavailable
from holdfast.model.files import File

_PIECE_BYTES = 1 << 16


@final
class RemoteFiles(Files):
    """Operations on files."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def get(self, session_id: str, file_id: str) -> File:
        reply = await self._http.send("GET", _about(session_id, file_id))
        return msgspec.json.decode(reply.content, type=File)

    @override
    async def read(self, session_id: str, file_id: str) -> AsyncIterator[bytes]:
        where = _about(session_id, file_id, "content")
        response = await self._http.follow(where)
        try:
            async for piece in response.content.iter_chunked(_PIECE_BYTES):
                yield piece
        except LOST as error:
            raise StoreUnavailable(f"the file was cut short: {error}") from error
        finally:
            response.close()


def _about(session_id: str, file_id: str, *rest: str) -> str:
    return path("sessions", session_id, "files", file_id, *rest)

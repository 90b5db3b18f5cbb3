"""A file of a user as an answer: always a download, never a page that a browser runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.responses import StreamingResponse

from holdfast.model.files import File


def attachment(file: File, content: AsyncIterator[bytes]) -> StreamingResponse:
    """Return the content of a file."""
    plain = file.name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
    headers = {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''"
        + quote(file.name, safe=""),
        "Content-Length": str(file.size),
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
        # An id never gets another content.
        "Cache-Control": "private, max-age=86400, immutable",
    }
    return StreamingResponse(content, headers=headers, media_type=file.type)

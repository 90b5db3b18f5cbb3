"""Files of pages: scripts and styles that are built from `pages/` and shipped in the package."""

from __future__ import annotations

import functools
import gzip
import hashlib
from dataclasses import dataclass
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from holdfast.errors import NotFound

_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
#: For an address that names the digest of what it returns.
_FOREVER = "public, max-age=31536000, immutable"
#: For an address that stays while its content changes.
_BRIEFLY = "public, max-age=300"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file, plain and compressed."""

    data: bytes
    compressed: bytes
    media_type: str
    digest: str

    def response(self, request: Request, version: str | None = None) -> Response:
        """Return the file; a browser keeps one that it asked for by digest."""
        headers = {
            "Cache-Control": _FOREVER if version == self.digest else _BRIEFLY,
            "Vary": "Accept-Encoding",
        }
        data = self.data
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            data = self.compressed
        return Response(data, headers=headers, media_type=self.media_type)


@functools.cache
def _all() -> dict[str, StaticFile]:
    found: dict[str, StaticFile] = {}
    for file in files("holdfast.server").joinpath("static").iterdir():
        media_type = _MEDIA_TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            data = file.read_bytes()
            digest = hashlib.sha256(data).hexdigest()[:16]
            compressed = gzip.compress(data, mtime=0)
            found[file.name] = StaticFile(data, compressed, media_type, digest)
    return found


def find(name: str) -> StaticFile:
    """Return a file of the folder `static`; raises NotFound."""
    file = _all().get(name)
    if file is None:
        raise NotFound("there is no such file")
    return file


def address(name: str) -> str:
    """Return the address of a file below `static/`, with the digest that lets browsers keep it."""
    return f"{name}?v={find(name).digest}"

"""HTML pages, which load nothing from elsewhere and run only their own script."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from importlib.resources import files

from starlette.responses import Response

MEDIA_TYPE = "text/html; charset=utf-8"


def page(name: str) -> Response:
    """Return a page from the folder `pages`."""
    html, policy = _read(name)
    return Response(html, headers={"Content-Security-Policy": policy}, media_type=MEDIA_TYPE)


@functools.cache
def _read(name: str) -> tuple[bytes, str]:
    """Return a page and a content policy that allows only its own script and style."""
    html = files("holdfast.server.http").joinpath("pages", name).read_bytes()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(html, b'script')}'",
            f"style-src '{_digest(html, b'style')}'",
            "connect-src 'self'",
            "form-action 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
    return html, policy


def _digest(html: bytes, element: bytes) -> str:
    match = re.search(rb"<%b>(.*?)</%b>" % (element, element), html, re.DOTALL)
    if match is None:
        raise AssertionError
    return f"sha256-{base64.b64encode(hashlib.sha256(match[1]).digest()).decode()}"

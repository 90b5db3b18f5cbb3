"""The page on which a person answers a waitpoint."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from importlib.resources import files

from starlette.responses import Response

from holdfast.server.call import Call
from holdfast.server.declare import Routes, Scope

routes: Routes = Routes("answer", "A page for people who got a link.")

MEDIA_TYPE = "text/html; charset=utf-8"


@routes.get("/answer/{waitpoint}", scope=Scope.PUBLIC, media_type="text/html")
async def page(call: Call, waitpoint: str) -> Response:  # noqa: ARG001 - the page itself reads it
    """Show the page. The token is in the fragment of the link, which never reaches a server.

    It is the same page for every waitpoint, so that it tells nothing about any.
    """
    html, policy = _page()
    return Response(html, headers={"Content-Security-Policy": policy}, media_type=MEDIA_TYPE)


@functools.cache
def _page() -> tuple[bytes, str]:
    """Return the page and a policy that allows its own script and style and nothing else."""
    html = files("holdfast.server").joinpath("pages/answer.html").read_bytes()
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
    found = re.search(rb"<%b>(.*?)</%b>" % (element, element), html, re.DOTALL)
    if found is None:
        raise AssertionError
    return f"sha256-{base64.b64encode(hashlib.sha256(found[1]).digest()).decode()}"

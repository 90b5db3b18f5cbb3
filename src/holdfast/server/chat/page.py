"""The page of a web chat, and the policy under which a browser runs it."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from starlette.responses import Response

from holdfast.server.http import static

#: Addresses are relative, so the page works behind any prefix that a proxy adds.
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content">
<meta name="color-scheme" content="light dark">
<title>Chat</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="../../static/{style}">
<script type="module" src="../../static/{script}"></script>
</head>
<body>
<noscript>This chat needs JavaScript.</noscript>
</body>
</html>
"""  # noqa: E501 - a line of HTML
_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
)


@functools.cache
def _html() -> bytes:
    style, script = static.address("chat.css"), static.address("chat.js")
    return _PAGE.format(style=style, script=script).encode()


def page(origins: Sequence[str]) -> Response:
    """Return the page; pages of these origins, and of its own, may show it in a frame."""
    ancestors = " ".join(("'self'", *origins))
    headers = {
        "Content-Security-Policy": "; ".join((*_POLICY, f"frame-ancestors {ancestors}")),
        # Browsers that know frame-ancestors ignore it.
        "X-Frame-Options": "SAMEORIGIN",
        "Cache-Control": "no-cache",
    }
    return Response(_html(), headers=headers, media_type="text/html; charset=utf-8")

"""The page of the console, and the policy under which a browser runs it."""

from __future__ import annotations

import functools

from starlette.responses import Response

from holdfast.server.http import static

#: Addresses are relative, so the page works behind any prefix that a proxy adds.
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{up}static/{style}">
<script type="module" src="{up}static/{script}"></script>
</head>
<body>
<noscript>The console needs JavaScript. The HTTP API does not: see /docs.</noscript>
</body>
</html>
"""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    # Its scripts and styles are addressed by digest, so only this page is fetched again.
    "Cache-Control": "no-cache",
}


@functools.cache
def _html(depth: int) -> bytes:
    style, script = static.address("console.css"), static.address("console.js")
    return _PAGE.format(up="../" * depth, style=style, script=script).encode()


def page(depth: int) -> Response:
    """Return the page, for an address with this many segments after `/console`."""
    return Response(_html(depth), headers=_HEADERS, media_type="text/html; charset=utf-8")

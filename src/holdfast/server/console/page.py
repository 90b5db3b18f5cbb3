"""The page of the console, and the policy under which a browser runs it."""

from __future__ import annotations

import functools
import html

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
{reads}
</head>
<body>
<noscript>The console needs JavaScript. The HTTP API does not: see /docs.</noscript>
</body>
</html>
"""
_READ = '<link rel="preload" as="fetch" crossorigin href="{up}{address}">'
#: What the page of an address reads first, so that browsers ask for it before they run the script.
_FIRST: dict[str | None, tuple[str, ...]] = {
    "": ("v1/counts", "v1/snapshot", "v1/doctor"),
    "runs": ("v1/executions?limit=60&why=true&total=true", "v1/counts"),
}
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
def _html(depth: int, reads: tuple[str, ...]) -> bytes:
    style, script = static.address("console.css"), static.address("console.js")
    up = "../" * depth
    early = "\n".join(_READ.format(up=up, address=html.escape(one)) for one in ("v1/me", *reads))
    return _PAGE.format(up=up, style=style, script=script, reads=early).encode()


def page(depth: int, name: str | None = None) -> Response:
    """Return the page, for an address with this many segments after `/console`.

    With the name of a page that has no filters, browsers read early what it shows.
    """
    data = _html(depth, _FIRST.get(name, ()))
    return Response(data, headers=_HEADERS, media_type="text/html; charset=utf-8")

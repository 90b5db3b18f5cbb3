"""What a request may be: its URL, its method, its headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from yarl import URL

from holdfast.host.flows.runners import NodeFailed
from holdfast.host.web.hosts import allows

METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
URL_CHARS = 8_192
HEADERS = 64
HEADER_BYTES = 8_192
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\ud7ff\ue000-\uffff]*")
#: Headers that say how the connection is used, which the client decides.
_RESERVED = frozenset({
    "accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te",
    "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip
_CREDENTIALS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
_CONTENT = frozenset({"content-type", "content-encoding", "content-language"})


def target(text: str, allowed: Iterable[str]) -> URL:
    """Return the URL of a call; raises NodeFailed. The client gets this very value."""
    if len(text) > URL_CHARS or not text.isprintable() or " " in text:
        raise NodeFailed("http_invalid", "the URL is not valid")
    try:
        url = URL(text)
        port, name = url.port, url.host or ""
        # The resolver would fail in its own words.
        (url.raw_host or "").encode("idna")
    except ValueError:
        raise NodeFailed("http_invalid", "the URL is not valid") from None
    if url.scheme not in {"http", "https"} or not name:
        raise NodeFailed("http_invalid", "the URL is not that of a web server")
    if url.user is not None or url.password is not None:
        raise NodeFailed("http_denied", "a URL may not hold a user or a password")
    host = name.lower().rstrip(".")
    if not allows(allowed, host, str(port)):
        raise NodeFailed("http_denied", f"the pack does not allow calls to {host}:{port}")
    return url.with_fragment(None)


def redirected(before: URL, location: str, allowed: Iterable[str]) -> URL:
    """Return the URL that a redirect leads to; raises NodeFailed."""
    try:
        after = before.join(URL(location))
    except ValueError:
        raise NodeFailed("http_bad_response", "a redirect has no valid URL") from None
    if before.scheme == "https" and after.scheme == "http":
        raise NodeFailed("http_denied", f"{before.host} redirects to a URL without TLS")
    return target(str(after), allowed)


def check(method: str, headers: Mapping[str, str]) -> None:
    """Refuse a method or headers; raises NodeFailed. Values are never shown."""
    if method not in METHODS:
        raise NodeFailed("http_invalid", "the method is not one that packs may use")
    if len(headers) > HEADERS:
        raise NodeFailed("http_invalid", f"there are more than {HEADERS} headers")
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise NodeFailed("http_invalid", "the name of a header is not valid")
        low = name.lower()
        if low in _RESERVED or low.startswith(("proxy-", "sec-")):
            raise NodeFailed("http_denied", f"the header {low} may not be set")
        if not _VALUE.fullmatch(value) or len(value.encode()) > HEADER_BYTES:
            raise NodeFailed("http_invalid", f"the value of the header {low} is not valid")


def without_credentials(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that another server may see."""
    return {name: value for name, value in headers.items() if name.lower() not in _CREDENTIALS}


def without_content(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request without a body."""
    return {name: value for name, value in headers.items() if name.lower() not in _CONTENT}

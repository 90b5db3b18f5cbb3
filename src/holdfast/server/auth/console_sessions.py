"""Sessions of the console: a browser that has shown an API key keeps a signed cookie instead.

The cookie names the key, so it ends with it: a revoked or expired key ends its sessions on every
server within `identity.FRESH_S`. It never contains the key itself.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from starlette.requests import Request

from holdfast.errors import Forbidden
from holdfast.model import signed
from holdfast.model.moments import from_ms
from holdfast.model.tokens import KeyRing

COOKIE = "hf_console"
#: The header without which a cookie changes nothing: pages of other sites cannot send it.
HEADER = "x-holdfast-console"
TTL_S = 12 * 3_600
_VERSION = "hfc1"
_READS = frozenset({"GET", "HEAD"})


class ConsoleSession(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A browser that acts with a key."""

    key: str
    #: The tenant to which an operator has narrowed the session.
    tenant: str | None
    until_ms: int

    @property
    def expires_at(self) -> datetime:
        """When it ends."""
        return from_ms(self.until_ms)


def begin(key: str, now_ms: int, tenant: str | None = None) -> ConsoleSession:
    """Return a session that starts now."""
    return ConsoleSession(key, tenant, now_ms + TTL_S * 1000)


def read(request: Request, ring: KeyRing, now_ms: int) -> ConsoleSession | None:
    """Return the session that a call's cookie names; None if it names none that lives."""
    body = signed.unseal(_VERSION, request.cookies.get(COOKIE), ring, now_ms)
    if body is None:
        return None
    try:
        session = msgspec.json.decode(body, type=ConsoleSession)
    except (ValueError, msgspec.MsgspecError):
        return None
    return session if now_ms < session.until_ms else None


def cookie(session: ConsoleSession, ring: KeyRing, *, secure: bool) -> str:
    """Return the header that makes a browser keep a session."""
    text = signed.seal(_VERSION, msgspec.json.encode(session), ring)
    return _set(text, TTL_S, secure=secure)


def no_cookie(*, secure: bool) -> str:
    """Return the header that makes a browser forget its session."""
    return _set("", 0, secure=secure)


def _set(value: str, ttl_s: int, *, secure: bool) -> str:
    # The console calls /v1, so the cookie is for the whole server.
    text = f"{COOKIE}={value}; Max-Age={ttl_s}; Path=/; HttpOnly; SameSite=Strict"
    return f"{text}; Secure" if secure else text


def refuse_other_pages(request: Request) -> None:
    """Refuse calls that pages of other origins make through the browser of a session."""
    reads = request.method in _READS
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    # A browser sends `none` when a person opens the address. Over plain HTTP it sends no such
    # header, but an origin with everything that a page changes.
    if site is None:
        host = None if origin is None else origin.partition("://")[2]
        is_ours = host in {None, request.headers.get("host")}
    else:
        is_ours = site == "same-origin" or (reads and site == "none")
    if not is_ours:
        raise Forbidden("with a session of the console, only pages of this server may call")
    if not reads and HEADER not in request.headers:
        raise Forbidden(f"with a session of the console, a change needs the header {HEADER}")

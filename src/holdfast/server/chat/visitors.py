"""Visitors of a web chat: a signed cookie says who they are, so each reaches only their session."""

from __future__ import annotations

import hashlib
import secrets

import msgspec
from starlette.requests import Request

from holdfast.errors import Forbidden
from holdfast.model import signed
from holdfast.model.session_keys import SessionKey
from holdfast.model.tokens import KeyRing
from holdfast.server.chat.doors import Door

#: As long as transcripts are kept; every visit starts it again.
TTL_S = 30 * 86_400
_VERSION = "hfv1"
_PREFIX = "web-"


class Visitor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A browser at a door."""

    env: str
    tenant: str
    name: str
    #: Chosen by the server, at random.
    id: str
    #: Which of the visitor's conversations; starting over begins the next.
    number: int
    until_ms: int

    @property
    def key(self) -> SessionKey:
        """The session of the visitor."""
        return SessionKey(
            env=self.env,
            tenant=self.tenant,
            endpoint=self.name,
            conversation=f"{_PREFIX}{self.number}",
            user=f"{_PREFIX}{self.id}",
        )

    def again(self, now_ms: int) -> Visitor:
        """Return the visitor with a conversation that has not begun."""
        until_ms = now_ms + TTL_S * 1000
        return msgspec.structs.replace(self, number=self.number + 1, until_ms=until_ms)


def arrive(door: Door, now_ms: int) -> Visitor:
    """Return a visitor whom nobody has seen before."""
    until_ms = now_ms + TTL_S * 1000
    return Visitor(door.env, door.tenant, door.name, secrets.token_hex(16), 1, until_ms)


def cookie_name(door: Door) -> str:
    """Return the name of the cookie of a door."""
    scope = f"{door.env}\0{door.tenant}\0{door.name}"
    return f"hf_chat_{hashlib.sha256(scope.encode()).hexdigest()[:16]}"


def recognize(request: Request, door: Door, ring: KeyRing, now_ms: int) -> Visitor | None:
    """Return the visitor whom a call's cookie names; None if it names none at this door."""
    body = signed.unseal(_VERSION, request.cookies.get(cookie_name(door)), ring, now_ms)
    if body is None:
        return None
    try:
        visitor = msgspec.json.decode(body, type=Visitor)
    except (ValueError, msgspec.MsgspecError):
        return None
    is_ours = (visitor.env, visitor.tenant, visitor.name) == (door.env, door.tenant, door.name)
    return visitor if is_ours and now_ms < visitor.until_ms else None


def set_cookie(door: Door, visitor: Visitor, ring: KeyRing, *, framed: bool) -> str:
    """Return the header that makes a browser remember who it is."""
    text = signed.seal(_VERSION, msgspec.json.encode(visitor), ring)
    return cookie(cookie_name(door), text, TTL_S, framed=framed)


def cookie(name: str, value: str, ttl_s: int, *, framed: bool) -> str:
    """Return a Set-Cookie header.

    It names no path: a browser then sends the cookie to the folder of this call, the door's own,
    whatever prefix a proxy puts before it. Chats that pages of other sites may frame need
    SameSite=None; such a cookie is kept apart for each of those sites.
    """
    site = "SameSite=None; Secure; Partitioned" if framed else "SameSite=Strict"
    return f"{name}={value}; Max-Age={ttl_s}; HttpOnly; {site}"


def refuse_other_pages(request: Request) -> None:
    """Refuse calls that pages of other origins make in the name of a visitor."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    if site != "same-origin":
        raise Forbidden("only the page of the chat itself may make this call")

"""Signed texts: what a browser keeps for a server, and cannot change.

    VERSION.KID.BODY.SIGNATURE

The signature is HMAC-SHA256 over everything before it, by a key of the ring that also signs tokens.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from holdfast.model import bounds
from holdfast.model.tokens import KeyRing, SigningKey

_FORM = re.compile(
    r"(([a-z0-9]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]{43})\Z", re.ASCII
)


def seal(version: str, body: bytes, ring: KeyRing) -> str:
    """Return a text that carries a body, signed by the current key."""
    key = ring.keys[ring.current]
    head = f"{version}.{key.kid}.{_encode(body)}"
    return f"{head}.{_signature(head, key)}"


def unseal(version: str, text: object, ring: KeyRing, now_ms: int) -> bytes | None:
    """Return the body of a genuine text of this version, whose key has not ended."""
    match = _FORM.match(text) if isinstance(text, str) else None
    if match is None or len(match.string) > bounds.COOKIE_CHARS:
        return None
    head, found, kid, body, signature = match.groups()
    key = ring.keys.get(kid)
    if found != version or key is None or (key.until_ms is not None and key.until_ms <= now_ms):
        return None
    if not hmac.compare_digest(_signature(head, key), signature):
        return None
    try:
        return urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return None


def _signature(head: str, key: SigningKey) -> str:
    return _encode(hmac.digest(key.secret, head.encode(), "sha256"))


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()

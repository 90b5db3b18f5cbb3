"""Signed cookies: a browser without a session stays on its revision.

    hfc1.KID.BODY.SIGNATURE

The body names the scope, the revision with its generation, and the end of the cookie. The signature
is HMAC-SHA256 over everything before it, by a key of the ring that also signs tokens.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.pins import Pin
from holdfast.model.tokens import KeyRing, SigningKey
from holdfast.routing.table import RoutingTable

TTL_MS = 3_600_000
MOST_TTL_MS = 30 * 86_400_000

_VERSION = "hfc1"
_FORM = re.compile(r"(hfc1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]{43})\Z")


class Cookie(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a genuine cookie says."""

    env: str
    deployment: str
    tenant: str
    revision: str
    generation: int
    until_ms: int

    @property
    def pin(self) -> Pin:
        """The revision with its generation: a cookie is judged as a pin is."""
        return Pin(self.revision, self.generation)


class Cookies:
    """Makes and reads the cookies of deployments."""

    def __init__(self, *, ttl_ms: int = TTL_MS) -> None:
        self._ttl_ms = checks.integer("ttl_ms", ttl_ms, 1, MOST_TTL_MS)

    @staticmethod
    def name(table: RoutingTable) -> str:
        """Return the name of the cookie of a deployment."""
        scope = f"{table.env}\0{table.deployment}\0{table.tenant}"
        return f"hf_rev_{hashlib.sha256(scope.encode()).hexdigest()[:16]}"

    def issue(self, table: RoutingTable, revision: str, ring: KeyRing, now_ms: int) -> str:
        """Return a cookie that keeps a browser on a revision."""
        cookie = Cookie(
            table.env,
            table.deployment,
            table.tenant,
            checks.name("revision", revision),
            table.generation,
            now_ms + self._ttl_ms,
        )
        key = ring.keys[ring.current]
        head = f"{_VERSION}.{key.kid}.{_encode(msgspec.json.encode(cookie))}"
        return f"{head}.{_signature(head, key)}"

    def read(self, text: object, table: RoutingTable, ring: KeyRing, now_ms: int) -> Cookie | None:
        """Return the content of a genuine cookie of this deployment that has not expired."""
        match = _FORM.match(text) if isinstance(text, str) else None
        if match is None or len(match.string) > bounds.COOKIE_CHARS:
            return None
        head, kid, body, signature = match.groups()
        key = ring.keys.get(kid)
        if key is None or (key.until_ms is not None and key.until_ms <= now_ms):
            return None
        if not hmac.compare_digest(_signature(head, key), signature):
            return None
        try:
            cookie = msgspec.json.decode(_decode(body), type=Cookie)
        except (ValueError, msgspec.MsgspecError):
            return None
        is_ours = (cookie.env, cookie.deployment, cookie.tenant) == (
            table.env,
            table.deployment,
            table.tenant,
        )
        # A clock that was set back does not make a cookie last longer than any may.
        is_alive = now_ms < cookie.until_ms <= now_ms + MOST_TTL_MS
        return cookie if is_ours and is_alive else None


def _signature(head: str, key: SigningKey) -> str:
    return _encode(hmac.digest(key.secret, head.encode(), "sha256"))


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))

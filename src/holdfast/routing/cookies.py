"""Signed cookies: a browser without a session stays on its revision.

The body of the signed text names the scope, the revision with its generation, and the end of the
cookie.
"""

from __future__ import annotations

import hashlib

import msgspec

from holdfast.model import checks, signed
from holdfast.model.pins import Pin
from holdfast.model.tokens import KeyRing
from holdfast.routing.table import RoutingTable

TTL_MS = 3_600_000
MOST_TTL_MS = 30 * 86_400_000

_VERSION = "hfc1"


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
        return signed.seal(_VERSION, msgspec.json.encode(cookie), ring)

    def read(self, text: object, table: RoutingTable, ring: KeyRing, now_ms: int) -> Cookie | None:
        """Return the content of a genuine cookie of this deployment that has not expired."""
        body = signed.unseal(_VERSION, text, ring, now_ms)
        if body is None:
            return None
        try:
            cookie = msgspec.json.decode(body, type=Cookie)
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

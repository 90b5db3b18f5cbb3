"""The keys that sign tokens."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast import errors
from holdfast.api.keyring import DEFAULT_GRACE_MS
from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.moments import from_ms
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import Body, DurationMs, View
from holdfast.server.views.times import rfc3339

routes: Routes = Routes("keyring", "The keys that sign tokens of waitpoints.")


class RotateBody(Body):
    """The new key. kid and secret are generated if absent; with them the call can be repeated."""

    kid: Annotated[str, Meta(max_length=bounds.KID_CHARS)] | None = None
    #: 16 to 1,024 bytes in hex.
    secret_hex: Annotated[str, Meta(max_length=2 * bounds.SECRET_BYTES)] | None = None
    #: How long tokens of the previous key stay valid.
    grace_ms: DurationMs = DEFAULT_GRACE_MS


class RotatedView(View):
    """The current key and the previous one."""

    kid: str
    previous: str | None


@routes.post(
    "/v1/admin/keyring/rotate",
    role=Role.ADMIN,
    scope=Scope.SYSTEM,
    errors=(errors.RotationConflict, errors.RotationBusy, errors.StoreFull),
    example={"kid": "k2", "secret_hex": "00112233445566778899aabbccddeeff", "grace_ms": 3600000},
)
async def rotate(call: Call, body: RotateBody) -> RotatedView:
    """Rotate the signing key. Tokens of the previous key stay valid for the grace period."""
    kid, previous = await call.engine.keyring.rotate(
        body.kid, body.secret_hex, grace_ms=body.grace_ms
    )
    return RotatedView(kid=kid, previous=previous)


class SigningKeyView(View):
    """A key, without its secret."""

    kid: str
    #: Identifies the secret without revealing it.
    fingerprint: str
    #: When the grace period of a retired key ends; null for the current key.
    until: str | None


class RingView(View):
    """The signing keys."""

    current: str
    previous: str | None
    keys: list[SigningKeyView]


@routes.get("/v1/admin/keyring", role=(Role.OPERATOR, Role.ADMIN), scope=Scope.SYSTEM)
async def read_ring(call: Call) -> RingView:
    """List the signing keys with their fingerprints, never with their secrets."""
    ring = await call.engine.keyring.ring()
    keys = [
        SigningKeyView(
            kid=key.kid,
            fingerprint=key.fingerprint(),
            until=None if key.until_ms is None else rfc3339(from_ms(key.until_ms)),
        )
        for key in ring.keys.values()
    ]
    return RingView(current=ring.current, previous=ring.previous, keys=keys)

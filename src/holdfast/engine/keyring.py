"""The signing keys of tokens: installed at boot, rotated, read to sign and verify tokens."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets

from typing_extensions import override

from holdfast import api
from holdfast.api.keyring import DEFAULT_GRACE_MS
from holdfast.errors import InvalidInput, RotationBusy
from holdfast.model import bounds, checks
from holdfast.model.tokens import KeyRing, check_kid, check_secret
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: The first key of a new ring: KID:SECRET_IN_HEX.
SIGNING_KEY_VARIABLE = "HOLDFAST_SIGNING_KEY"


class SigningKeys(api.SigningKeys):
    """The key ring of a store."""

    def __init__(self, store: Store) -> None:
        self._rings = store.keyrings
        self._rotating = asyncio.Lock()

    async def install_configured(self) -> None:
        """Install the key that the environment names, if it names one."""
        configured = os.environ.get(SIGNING_KEY_VARIABLE)
        if configured:
            kid, separator, secret_hex = configured.partition(":")
            if not separator:
                message = f"{SIGNING_KEY_VARIABLE}: must be KID:SECRET_IN_HEX"
                raise InvalidInput(message, field=SIGNING_KEY_VARIABLE)
            await self.install(kid, secret_hex)

    async def install(self, kid: str, secret_hex: str) -> str:
        """Install the configured key; returns fresh, match, mismatch or repaired.

        A ring with a different current key keeps it: rotate the keys to change it.
        """
        word, current = await self._rings.install(check_kid(kid), check_secret(secret_hex))
        if word == "mismatch":
            log.warning(
                "the configured signing key %s is ignored, because the current key is %s: "
                "rotate the keys to change it",
                kid,
                current,
            )
        return word

    @override
    async def rotate(
        self,
        kid: str | None = None,
        secret_hex: str | None = None,
        *,
        grace_ms: int = DEFAULT_GRACE_MS,
    ) -> tuple[str, str | None]:
        kid = f"k{secrets.token_hex(4)}" if kid is None else check_kid(kid)
        secret = secrets.token_bytes(32) if secret_hex is None else check_secret(secret_hex)
        checks.integer("grace_ms", grace_ms, 0, bounds.DURATION_MS)
        if self._rotating.locked():
            raise RotationBusy("a rotation is already under way")
        async with self._rotating:
            return await self._rings.rotate(kid, secret, grace_ms)

    @override
    async def ring(self) -> KeyRing:
        ring = await self._rings.read()
        if ring.current not in ring.keys:
            await self._rings.install(f"k{secrets.token_hex(4)}", secrets.token_bytes(32))
            ring = await self._rings.read()
        return ring

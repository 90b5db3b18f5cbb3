"""Webhooks of a store: secrets, derived from its signing keys."""

from __future__ import annotations

from typing import final

from typing_extensions import override

from holdfast.api import webhooks
from holdfast.engine.keyring import SigningKeys
from holdfast.model import checks
from holdfast.model.webhooks import secret_of


@final
class Webhooks(webhooks.Webhooks):
    """Operations on webhooks."""

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys

    @override
    async def secret(self, tenant: str) -> str:
        ring = await self._keys.ring()
        return secret_of(ring.keys[ring.current].secret, checks.name("tenant", tenant))

    async def secrets(self, tenant: str, now_ms: int) -> list[str]:
        """Return the secrets that sign a message now, the current one first."""
        ring = await self._keys.ring()
        keys = sorted(ring.keys.values(), key=lambda key: key.kid != ring.current)
        return [
            secret_of(key.secret, tenant)
            for key in keys
            if key.until_ms is None or key.until_ms > now_ms
        ]

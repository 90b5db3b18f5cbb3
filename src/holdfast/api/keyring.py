"""The keys that sign tokens: rotate, read."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.tokens import KeyRing

#: The default grace period of the previous key.
DEFAULT_GRACE_MS = 86_400_000


class SigningKeys(ABC):
    """The key ring of a store."""

    @abstractmethod
    async def rotate(
        self,
        kid: str | None = None,
        secret_hex: str | None = None,
        *,
        grace_ms: int = DEFAULT_GRACE_MS,
    ) -> tuple[str, str | None]:
        """Rotate the signing key. Tokens of the previous key stay valid for the grace period.

        kid and secret are generated if absent. Safe to repeat. Return the current and the previous
        kid.
        """

    @abstractmethod
    async def ring(self) -> KeyRing:
        """Return the key ring; a new ring gets its first key."""

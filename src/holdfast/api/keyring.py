"""The signing keys of tokens: rotated, shown."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.tokens import KeyRing

#: The grace of the outgoing key when none is given.
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
        """Make a new key the current one; the outgoing one stays good for the grace.

        Without kid and secret both are made up. Safe to repeat. Returns the current kid and the
        one before.
        """

    @abstractmethod
    async def ring(self) -> KeyRing:
        """Return the ring as it is now; a new one gets its first key."""

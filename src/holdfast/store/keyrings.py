"""The ring of signing keys, in the global partition."""

from __future__ import annotations

from holdfast.model.tokens import KeyRing, SigningKey
from holdfast.store.domain import Domain


class KeyRings(Domain):
    """Reads and changes of the key ring."""

    async def install(self, kid: str, secret: bytes) -> tuple[str, str]:
        """Install the first key; returns a word for the result and the current kid."""
        word, current = await self._call.write(
            "hf_keyring_install", self._store.global_tag, kid, secret.hex()
        )
        return word.decode(), current.decode()

    async def rotate(self, kid: str, secret: bytes, grace_ms: int) -> tuple[str, str | None]:
        """Make a key the current one; returns it and the one before."""
        current, previous = await self._call.write(
            "hf_keyring_rotate", self._store.global_tag, kid, secret.hex(), str(grace_ms)
        )
        return current.decode(), previous.decode() or None

    async def read(self) -> KeyRing:
        """Return the current ring."""
        _, current, previous, rows = await self._call.read(
            "hf_keyring_read", self._store.global_tag
        )
        keys = [
            SigningKey(kid.decode(), bytes.fromhex(secret.decode()), int(until) if until else None)
            for kid, secret, until in rows
        ]
        return KeyRing(current.decode(), previous.decode() or None, {key.kid: key for key in keys})

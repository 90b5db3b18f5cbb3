"""Secrets that a call has seen, kept out of what others read."""

from __future__ import annotations

import msgspec

_MASK = "***"
#: A shorter secret occurs in texts by chance.
_SHORTEST = 6


class Revealed:
    """The secrets of one call."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def add(self, secret: str) -> None:
        """Keep a secret out of logs and errors from now on."""
        if len(secret) >= _SHORTEST:
            self._secrets.add(secret)

    def masked(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _MASK)
        return text

    def within(self, encoded: bytes) -> bool:
        """Return whether a value in JSON contains a secret."""
        return any(msgspec.json.encode(secret)[1:-1] in encoded for secret in self._secrets)

"""Codecs: what turns payloads into ciphertext and back. The one in the box is AES-256-GCM.

Its keys come from the environment: the first one seals, all of them open, so a key is rotated by
putting another one before it.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, final

from holdfast.errors import InvalidInput, PayloadUnreadable
from holdfast.model.tokens import check_kid

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

#: The keys of the codec: KID:BASE64, several separated by commas. The first one seals.
KEYS_VARIABLE = "HOLDFAST_CODEC_KEYS"
#: In place of the first key: nothing new is sealed, and the keys that follow only open.
PLAIN = "plain"

KEY_BYTES = 32
_NONCE_BYTES = 12
_SALT_BYTES = 8
#: Every process has a salt of its own; this many derived ciphers are kept for opening.
_CIPHERS_KEPT = 1024


class Codec(Protocol):
    """Seals payloads before they reach the store, and opens them when they come back."""

    @property
    def kids(self) -> Sequence[str]:
        """The ids of the keys that open payloads; the first one seals."""
        ...

    @property
    def seals(self) -> bool:
        """Whether new payloads are sealed; otherwise the codec only opens older ones."""
        ...

    def seal(self, payload: bytes, about: bytes) -> tuple[str, bytes]:
        """Return the id of the key, and the ciphertext, which opens only with the same `about`."""
        ...

    def open(self, kid: str, sealed: bytes, about: bytes) -> bytes:
        """Return the payload; raises PayloadUnreadable if it was altered or belongs elsewhere."""
        ...

    def digests(self, content: bytes) -> Sequence[str]:
        """Return a digest by each key, the sealing one first: without a key, nobody can guess."""
        ...


@final
class AesGcm:
    """AES-256-GCM with a key ring.

    Each instance seals with keys of its own, derived with a random salt, so that random nonces
    stay unique however many payloads all processes seal.
    """

    def __init__(self, keys: Mapping[str, bytes], *, seals: bool = True) -> None:
        if not keys:
            raise InvalidInput("keys: must have at least one key", field="keys")
        for kid, key in keys.items():
            check_kid(kid)
            if len(key) != KEY_BYTES:
                message = f"keys: the key {kid} must have {KEY_BYTES} bytes"
                raise InvalidInput(message, field="keys")
        self.seals: bool = seals
        self._keys = dict(keys)
        self._current = next(iter(keys))
        self._salt = secrets.token_bytes(_SALT_BYTES)
        self._cipher = functools.lru_cache(_CIPHERS_KEPT)(self._derive)

    @property
    def kids(self) -> Sequence[str]:
        """The ids of its keys."""
        return tuple(self._keys)

    def seal(self, payload: bytes, about: bytes) -> tuple[str, bytes]:
        """Return the id of the key, and salt, nonce and ciphertext."""
        nonce = os.urandom(_NONCE_BYTES)
        ciphertext = self._cipher(self._current, self._salt).encrypt(nonce, payload, about)
        return self._current, self._salt + nonce + ciphertext

    def open(self, kid: str, sealed: bytes, about: bytes) -> bytes:
        """Return the payload; raises PayloadUnreadable."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - slow to load

        if kid not in self._keys:
            raise PayloadUnreadable(
                f"the payload is sealed with the key {kid}, {_NOT_HERE}", kid=kid
            )
        start = _SALT_BYTES + _NONCE_BYTES
        salt, nonce, ciphertext = sealed[:_SALT_BYTES], sealed[_SALT_BYTES:start], sealed[start:]
        try:
            return self._cipher(kid, salt).decrypt(nonce, ciphertext, about)
        except (InvalidTag, ValueError):
            message = f"the payload was altered or moved, or the key {kid} is another one"
            raise PayloadUnreadable(message, kid=kid) from None

    def digests(self, content: bytes) -> Sequence[str]:
        """Return a keyed digest by each key."""
        return [
            hashlib.blake2b(content, key=key, digest_size=9, person=b"holdfast digest").hexdigest()
            for key in self._keys.values()
        ]

    def _derive(self, kid: str, salt: bytes) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow

        key = self._keys[kid]
        return AESGCM(
            hashlib.blake2b(
                salt, key=key, digest_size=KEY_BYTES, person=b"holdfast payload"
            ).digest()
        )


_NOT_HERE = f"which is not here: add it to {KEYS_VARIABLE}"


def missing(kid: str) -> PayloadUnreadable:
    """Return the error of a process that has no keys at all."""
    return PayloadUnreadable(f"the payload is sealed with the key {kid}, {_NOT_HERE}", kid=kid)


def of_environment() -> Codec | None:
    """Return the codec that the environment names, None if it names none."""
    text = os.environ.get(KEYS_VARIABLE, "").strip()
    if not text:
        return None
    first, _, rest = text.partition(",")
    if first.strip() == PLAIN:
        return AesGcm(parse_keys(rest), seals=False)
    return AesGcm(parse_keys(text))


def parse_keys(text: str) -> dict[str, bytes]:
    """Parse keys; a mistake in them is never shown."""
    keys: dict[str, bytes] = {}
    for part in text.split(","):
        kid, separator, encoded = part.strip().partition(":")
        try:
            key = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if not separator or kid in keys or len(key) != KEY_BYTES:
            message = (
                f"{KEYS_VARIABLE}: must be KID:BASE64 of {KEY_BYTES} bytes, separated by commas"
            )
            raise InvalidInput(message, field=KEYS_VARIABLE)
        keys[check_kid(kid)] = key
    return keys


def new_key(kid: str | None = None) -> str:
    """Return a new key in the form of the environment."""
    name = f"c{secrets.token_hex(4)}" if kid is None else check_kid(kid)
    return f"{name}:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()}"

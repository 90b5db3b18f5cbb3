"""Keys that sign packs: Ed25519, a private key in a PEM file, a public key in one line."""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from holdfast.errors import Conflict, InvalidInput

PREFIX = "ed25519:"
_FILE_BYTES = 10_000
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that checks signatures; `str(key)` is the line that people exchange."""

    raw: bytes

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Read a line `ed25519:BASE64`, with an optional comment after a space."""
        word = next(iter(text.split()), "")
        raw = decoded(word.removeprefix(PREFIX)) if word.startswith(PREFIX) else None
        if raw is None or len(raw) != _KEY_BYTES:
            message = f"a public key must be a line {PREFIX}BASE64, got {text[:80]!r}"
            raise InvalidInput(message, field="key")
        return cls(raw)

    @classmethod
    def read(cls, path: Path) -> PublicKey:
        """Read a public key from a file."""
        return cls.parse(_text(path))

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether a signature of a message is by the owner of this key."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def __str__(self) -> str:
        return PREFIX + base64.b64encode(self.raw).decode()


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key that signs."""

    _key: Ed25519PrivateKey

    @classmethod
    def generate(cls) -> PrivateKey:
        """Make a new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: Path) -> PrivateKey:
        """Read a key from the file that `holdfast pack keygen` wrote."""
        text = _text(path)
        if text.startswith(PREFIX):
            message = f"{path} is a public key; signing needs the private one"
            raise InvalidInput(message, field="key")
        try:
            key = serialization.load_pem_private_key(text.encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            message = f"{path} is not a private key of Ed25519 as `holdfast pack keygen` makes them"
            raise InvalidInput(message, field="key")
        return cls(key)

    @property
    def public(self) -> PublicKey:
        """The key that checks what this one signs."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message; the same each time."""
        return self._key.sign(message)

    def write(self, path: Path) -> Path:
        """Write both keys, the public one beside with the ending `.pub`; never over a file."""
        public_path = path.with_name(f"{path.name}.pub")
        text = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        for target in (path, public_path):
            if os.path.lexists(target):
                raise Conflict(f"{target} exists; choose another name", file=str(target))
        try:
            _write_new(path, text, 0o600)
            _write_new(public_path, f"{self.public}\n".encode(), 0o644)
        except OSError as error:
            message = f"key: cannot write {error.filename} ({error.strerror})"
            raise InvalidInput(message, field="key") from error
        return public_path


def decoded(text: str) -> bytes | None:
    """Return what a text in Base64 says; None if it is not written as it must be."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == text else None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
        if len(data) > _FILE_BYTES:
            raise InvalidInput(f"{path} is too large for a key", field="key")
        return data.decode("ascii")
    except OSError as error:
        message = f"key: cannot read {path} ({error.strerror})"
        raise InvalidInput(message, field="key") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a key", field="key") from None


def _write_new(path: Path, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)

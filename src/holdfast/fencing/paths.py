"""The paths of leases, manifests and data objects; all callers use this module."""

from __future__ import annotations

import re

from holdfast.model.writer_leases import Token

_OTHER = re.compile(rb"[^A-Za-z0-9_.:@/-]")
_DATA_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})-[0-9a-z]+[.\w-]*\Z")


def _written(key: str) -> str:
    """Return a key in characters that every storage accepts; different keys stay different."""
    return _OTHER.sub(lambda one: b"=%02x" % ord(one[0]), key.encode()).decode()


def lease(key: str) -> str:
    """Return the path of the lease of a key."""
    return f"leases/{_written(key)}.lease.json"


def manifest(key: str) -> str:
    """Return the path of the manifest of a key."""
    return f"manifests/{_written(key)}.manifest.json"


def data_prefix(key: str) -> str:
    """Return the prefix of a manifest's data objects."""
    return f"objects/{_written(key)}/"


def data(key: str, token: Token, nonce: str, suffix: str) -> str:
    """Return a name that no other writer, and no other try, ever makes."""
    return f"{data_prefix(key)}{token.term:016x}-{token.generation:016x}-{nonce}{suffix}"


def token_of(key: str, name: str) -> Token | None:
    """Return the token in the name of a data object of this key, None if it is not one."""
    # A key may start with another one, such as `a/b` with `a`, whose objects stay apart.
    match = _DATA_NAME.fullmatch(name.removeprefix(data_prefix(key)))
    return Token(int(match[1], 16), int(match[2], 16)) if match else None

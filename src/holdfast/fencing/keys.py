"""Where leases, manifests and data objects are: the one resolver that all callers share."""

from __future__ import annotations

import re

from holdfast.fencing.record import Token
from holdfast.model import checks, limits

_SEGMENT = re.compile(r"[A-Za-z0-9_.:@-]+\Z")
_RESERVED = (".lease.json", ".manifest.json")
_DATA_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})-[0-9a-z]+[.\w-]*\Z")


def check_key(value: object) -> str:
    """Check the key of a writer lease: names separated by slashes, such as `reports/main`."""
    key = checks.text("key", value, limits.ID_CHARS, empty=False)
    for segment in key.split("/"):
        if not _SEGMENT.match(segment) or set(segment) == {"."} or segment.endswith(_RESERVED):
            checks.refuse("key", "must be names of A-Z a-z 0-9 _ . : @ - separated by /", value)
    return key


def lease(key: str) -> str:
    """Return where the lease of a key is."""
    return f"leases/{key}.lease.json"


def manifest(key: str) -> str:
    """Return where the manifest of a key is."""
    return f"manifests/{key}.manifest.json"


def data_prefix(key: str) -> str:
    """Return what the data objects of a manifest start with."""
    return f"objects/{key}/"


def data(key: str, token: Token, nonce: str, suffix: str) -> str:
    """Return a name that no other writer, and no other try, can ever make."""
    return f"{data_prefix(key)}{token.term:016x}-{token.generation:016x}-{nonce}{suffix}"


def token_of(name: str) -> Token | None:
    """Return the token in the name of a data object, None if it is not one."""
    found = _DATA_NAME.fullmatch(name.rsplit("/", 1)[-1])
    return Token(int(found[1], 16), int(found[2], 16)) if found else None

"""Envs: named targets of deployments, and whose packs each accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from holdfast.model import checks
from holdfast.model.session_keys import DEFAULT_ENV

#: Public keys that an env trusts.
MOST_KEYS = 64
_KEY = re.compile(r"ed25519:[A-Za-z0-9+/]{43}=\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """An env. `local` always exists; it accepts unsigned packs until it is put otherwise."""

    name: str
    #: Whether a pack needs no trusted signature.
    unsigned_packs: bool = False
    #: Public keys (`ed25519:BASE64`) whose packs are accepted.
    trust: tuple[str, ...] = ()
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        checks.name("env", self.name)
        checks.flag("unsigned_packs", self.unsigned_packs)
        trust = checks.names("trust", self.trust, MOST_KEYS, check=public_key)
        object.__setattr__(self, "trust", trust)


def public_key(field: str, value: object) -> str:
    """Check a public key: `ed25519:` and 32 bytes in base64."""
    if not isinstance(value, str) or not _KEY.match(value):
        checks.refuse(field, "must be a public key ed25519:BASE64", value)
    return value


#: The env that needs no creation.
LOCAL = Env(name=DEFAULT_ENV, unsigned_packs=True)

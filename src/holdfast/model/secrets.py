"""Secrets of tenants: what is known of one without its value, and the keys that seal values.

A value is sealed with AES-256-GCM together with whose it is and its name, so that a sealed value
cannot be opened under another name or for another tenant.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import InvalidInput, SecretUnreadable, TooLarge
from holdfast.model import bounds, checks
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.session_keys import DEFAULT_ENV

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12


class Secret(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a secret; never its value."""

    name: str
    tenant: str = DEFAULT_TENANT
    env: str = DEFAULT_ENV
    #: The key that seals it.
    kid: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """Which secret: its name, and whose it is."""

    name: str
    tenant: str = DEFAULT_TENANT
    env: str = DEFAULT_ENV
    #: The endpoint that it belongs to, which packs cannot read; None: the tenant itself.
    endpoint: str | None = None

    def __post_init__(self) -> None:
        checks.name("name", self.name)
        checks.name("tenant", self.tenant)
        checks.name("env", self.env)
        if self.endpoint is not None:
            checks.name("endpoint", self.endpoint)

    @property
    def scope(self) -> str:
        """The env and the tenant, and perhaps the endpoint; names contain no `|`."""
        return scope_of(self.env, self.tenant, self.endpoint)


def scope_of(env: str, tenant: str, endpoint: str | None = None) -> str:
    """Return the name under which the secrets of a tenant, or of an endpoint, are kept."""
    return f"{env}|{tenant}" if endpoint is None else f"{env}|{tenant}|{endpoint}"


@dataclass(frozen=True, slots=True)
class SealingKey:
    """A key that seals secrets. It is never shown."""

    kid: str
    secret: bytes = field(repr=False)

    def seal(self, ref: SecretRef, value: str) -> bytes:
        """Return a value sealed, for one secret only."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher().encrypt(nonce, value.encode(), _about(ref))

    def open(self, ref: SecretRef, sealed: bytes) -> str:
        """Return the value of a secret; raises SecretUnreadable."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - slow to load

        nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher().decrypt(nonce, text, _about(ref)).decode()
        except (InvalidTag, ValueError):
            message = f"the secret {ref.name} was altered, or the key {self.kid} is another one"
            raise SecretUnreadable(message, name=ref.name, kid=self.kid) from None

    def _cipher(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - slow

        return AESGCM(hashlib.sha256(b"holdfast secrets\0" + self.secret).digest())


@dataclass(frozen=True, slots=True)
class SealingKeys:
    """The keys that seal secrets: the current one seals, all of them open."""

    current: str
    keys: Mapping[str, SealingKey]

    def key(self, ref: SecretRef, kid: str) -> SealingKey:
        """Return the key that sealed a secret; raises SecretUnreadable."""
        if kid not in self.keys:
            message = f"the secret {ref.name} is sealed with the key {kid}, which is not here"
            raise SecretUnreadable(message, name=ref.name, kid=kid)
        return self.keys[kid]


def check_value(value: object) -> str:
    """Check the value of a secret; it is never shown, not even in an error."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidInput("value: must be text that is not empty", field="value")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput("value: must be text", field="value") from None
    if size > bounds.SECRET_VALUE_BYTES:
        message = f"value: has {size} bytes, and {bounds.SECRET_VALUE_BYTES} are allowed"
        raise TooLarge(message, field="value", limit=bounds.SECRET_VALUE_BYTES)
    return value


def _about(ref: SecretRef) -> bytes:
    owner = [ref.env, ref.tenant] if ref.endpoint is None else [ref.env, ref.tenant, ref.endpoint]
    return msgspec.json.encode([*owner, ref.name])

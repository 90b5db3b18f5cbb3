"""API keys: who may do what, for which tenant."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from holdfast.model import bounds, checks
from holdfast.model.sight import Payloads

_PREFIX = "hf_"
_ID_CHARS = 20
_SECRET_BYTES = 32


class Role(StrEnum):
    """The rights of a key. Every role may read; `admin` may do everything."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    WORKER = "worker"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """The record of a key; only its holder knows the key itself."""

    id: str
    name: str
    #: None for an operator key, which may act for every tenant.
    tenant: str | None
    roles: frozenset[Role]
    digest: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    #: Accurate to the minute.
    last_used_at: datetime | None
    #: Which payloads it sees: all, redacted or none.
    payloads: Payloads = Payloads.REDACTED

    def is_valid(self, now: datetime) -> bool:
        """Whether the key may be used now."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def may(self, role: Role) -> bool:
        """Whether the key has the rights of a role."""
        return role is Role.VIEWER or role in self.roles or Role.ADMIN in self.roles

    def matches(self, secret: str) -> bool:
        """Whether this is the key; takes the same time for every wrong key."""
        return hmac.compare_digest(self.digest, digest_of(secret))


#: Roles whose calls need payloads as they are, or that could give themselves a key that sees them.
_SEEING = (Role.WORKER, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key to create."""

    roles: frozenset[Role]
    tenant: str | None
    name: str
    ttl_ms: int | None
    secret: str
    payloads: Payloads

    @classmethod
    def checked(
        cls,
        *,
        roles: Iterable[str],
        tenant: str | None,
        name: str,
        ttl_ms: int | None,
        secret: str | None,
        payloads: str,
    ) -> Self:
        """Check a key; without a secret, one is generated."""
        chosen = frozenset(Role(checks.one_of("roles", role, list(Role))) for role in roles)
        if not chosen:
            checks.refuse("roles", "must have at least one role", ())
        seen = Payloads(checks.one_of("payloads", payloads, list(Payloads)))
        if seen is Payloads.NONE and chosen.intersection(_SEEING):
            problem = f"cannot be none for a key with the role {' or '.join(_SEEING)}"
            checks.refuse("payloads", problem, payloads)
        if tenant is not None:
            checks.name("tenant", tenant)
        if ttl_ms is not None:
            checks.integer("ttl_ms", ttl_ms, 1, bounds.DURATION_MS)
        return cls(
            roles=chosen,
            tenant=tenant,
            name=checks.text("name", name, bounds.API_KEY_NAME_CHARS),
            ttl_ms=ttl_ms,
            secret=new_secret() if secret is None else checked_secret(secret),
            payloads=seen,
        )


def new_secret() -> str:
    """Mint a key."""
    return _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)


def digest_of(secret: str) -> str:
    """Return the stored digest of a key. A key is random and long, so it needs no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()


def id_of(secret: str) -> str:
    """Return the public id of a key, the beginning of its digest."""
    return digest_of(secret)[:_ID_CHARS]


def checked_secret(secret: str) -> str:
    """Check a key that was made elsewhere."""
    checks.text("key", secret, bounds.ID_CHARS)
    if len(secret) < bounds.API_KEY_LEAST_CHARS or not secret.isascii() or " " in secret:
        least = bounds.API_KEY_LEAST_CHARS
        checks.refuse("key", f"must have at least {least} ASCII characters and no space", "***")
    return secret

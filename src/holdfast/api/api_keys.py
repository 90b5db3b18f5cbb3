"""API keys: create, list, revoke."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from holdfast.model.api_keys import ApiKey, NewKey
from holdfast.model.callers import Caller
from holdfast.model.sight import Payloads


class ApiKeys(ABC):
    """The API keys of a store."""

    async def create(
        self,
        *,
        roles: Iterable[str],
        tenant: str | None = None,
        name: str = "",
        ttl_ms: int | None = None,
        secret: str | None = None,
        payloads: str = Payloads.REDACTED,
    ) -> tuple[ApiKey, str]:
        """Create a key; return it and its secret, which is shown only this once.

        Without a tenant it is an operator key, which can act for all tenants. `payloads` says what
        it sees of them: `all`, all but what the rules of its tenant redact (`redacted`), or `none`,
        which a key of a worker or an admin cannot have.
        """
        new = NewKey.checked(
            roles=roles, tenant=tenant, name=name, ttl_ms=ttl_ms, secret=secret, payloads=payloads
        )
        return await self._create(new), new.secret

    @abstractmethod
    async def _create(self, new: NewKey) -> ApiKey:
        """Create a key."""

    @abstractmethod
    async def list(self, *, tenant: str | None = None) -> list[ApiKey]:
        """Return the keys of one tenant or all, oldest first, including recently ended ones."""

    @abstractmethod
    async def revoke(self, key_id: str, *, tenant: str | None = None) -> None:
        """Revoke a key; with a tenant, only if it belongs to that tenant. Safe to repeat."""

    @abstractmethod
    async def me(self) -> Caller:
        """Return who the caller is, and what it may see and do."""

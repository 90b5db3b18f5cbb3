"""Secrets as flows and components get them: only names that their pack declares."""

from __future__ import annotations

from typing import Protocol

from holdfast.errors import HoldfastError, SecretNotFound
from holdfast.host.flows.runners import Invocation, NodeFailed
from holdfast.host.grants import Grant


class Keeper(Protocol):
    """Knows secrets, as `engine.secrets` does."""

    async def reveal(self, name: str, *, tenant: str, env: str) -> str:
        """Return a secret; raises SecretNotFound."""
        ...


class Vault:
    """The secrets of the tenants for whom flows run."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    async def reveal(self, name: str, grant: Grant, about: Invocation) -> str:
        """Return a secret of the tenant; raises NodeFailed."""
        if name not in grant.secrets:
            message = f"the pack {grant.pack} does not declare the secret {name}"
            raise NodeFailed("secret_denied", message)
        try:
            return await self._keeper.reveal(name, tenant=about.tenant, env=about.env)
        except SecretNotFound:
            message = f"the tenant {about.tenant} has no secret {name} in {about.env}"
            raise NodeFailed("secret_missing", message) from None
        except HoldfastError as error:
            message = f"the secret {name} cannot be read ({error.code})"
            raise NodeFailed("secret_unavailable", message, retryable=True) from None

    async def has(self, name: str, grant: Grant, *, tenant: str, env: str) -> bool:
        """Return whether a tenant has a secret that the pack declares; it must be readable."""
        if name not in grant.secrets:
            return False
        try:
            await self._keeper.reveal(name, tenant=tenant, env=env)
        except SecretNotFound:
            return False
        return True

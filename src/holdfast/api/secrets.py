"""Secrets of tenants: set, list, delete; only hosts of packs read values."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.secrets import Secret
from holdfast.model.session_keys import DEFAULT_ENV


class Secrets(ABC):
    """Operations on secrets. Values are sealed before they are stored."""

    @abstractmethod
    async def set(
        self, name: str, value: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> Secret:
        """Set a secret, in place of the one before. Raises InvalidInput, TooManySecrets."""

    @abstractmethod
    async def list(self, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV) -> list[Secret]:
        """Return the secrets of a tenant in an env by name, without their values."""

    @abstractmethod
    async def delete(
        self, name: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> None:
        """Delete a secret. Raises SecretNotFound."""

    @abstractmethod
    async def reveal(
        self, name: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> str:
        """Return the value of a secret, for a process that has the store itself.

        A value that an older key sealed is sealed again with the current one. Raises
        SecretNotFound, SecretUnreadable, and NotOverHttp where the store is not near.
        """

    @abstractmethod
    async def rotate(self) -> str:
        """Seal values with a new key from now on; return its kid.

        Older values are sealed again when they are read. Raises InvalidInput if the environment
        names the keys, and NotOverHttp where the store is not near.
        """

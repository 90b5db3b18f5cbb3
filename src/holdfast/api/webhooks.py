"""Webhooks: calls to addresses of users; the secrets that sign them."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Webhooks(ABC):
    """What receivers of webhooks need."""

    @abstractmethod
    async def secret(self, tenant: str) -> str:
        """Return the secret that signs the webhooks of a tenant, for their receivers.

        It changes when the signing key is rotated. During the grace period, messages carry a
        signature of the old secret, too.
        """

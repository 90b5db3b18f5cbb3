"""Quotas: limits on how many executions run at once or start within a window."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.api.rules import Rules
from holdfast.model.ids import new_id
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.quotas import NewQuota, Quota


class Quotas(ABC):
    """Operations on quotas."""

    rules: Rules

    async def create(
        self,
        quota_id: str | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        window_ms: int | None = None,
        max_per_window: int | None = None,
        max_concurrent: int | None = None,
    ) -> tuple[Quota, bool]:
        """Create a quota; return it and whether it is new. The id is generated if absent."""
        new = NewQuota(
            id=new_id() if quota_id is None else quota_id,
            tenant=tenant,
            window_ms=window_ms,
            max_per_window=max_per_window,
            max_concurrent=max_concurrent,
        )
        quota, is_new = await self._create(new)
        return quota, is_new or quota_id is None

    @abstractmethod
    async def _create(self, new: NewQuota) -> tuple[Quota, bool]:
        """Create a quota; return it and whether this call created it."""

    @abstractmethod
    async def get(
        self, quota_id: str, *, value: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Quota:
        """Return a quota. With `value`, count only that value of the tag of its rule."""

    @abstractmethod
    async def list(
        self, tenant: str | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> tuple[list[Quota], str | None]:
        """Return a page of quotas in the order of tenant and id, and the next cursor."""

    @abstractmethod
    async def set(
        self,
        quota_id: str,
        *,
        window_ms: int | None = None,
        max_per_window: int | None = None,
        max_concurrent: int | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> Quota:
        """Replace the limits of a quota. Waiting executions start if there is room now."""

    @abstractmethod
    async def delete(self, quota_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Remove a quota and its rules. Executions that wait for it continue."""

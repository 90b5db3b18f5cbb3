"""Tasks: the declarations that workers publish and submissions follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from typing_extensions import override

from holdfast import api
from holdfast.model import checks, declarations
from holdfast.store.store import Store


@final
class Tasks(api.Tasks):
    """The declarations of tasks in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @override
    async def list(self, *, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        if tenant is not None:
            checks.name("tenant", tenant)
        return await self._store.tasks.list(tenant)

    @override
    async def publish(
        self, described: Mapping[str, Mapping[str, Any]], *, tenant: str | None = None
    ) -> None:
        for name, description in checks.mapping("tasks", described).items():
            declarations.check(checks.kind("task", name), description, tenant)
        await self._store.tasks.publish(described, tenant)
        self._store.declarations.forget()

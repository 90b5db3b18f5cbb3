"""Tasks: the descriptions that workers have published."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class Tasks(ABC):
    """The published descriptions of tasks, which provide the defaults of submissions."""

    @abstractmethod
    async def list(self, *, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the tasks that workers of all tenants and of this tenant have published.

        A task from a worker of the tenant replaces one from a worker of all tenants.
        """

    @abstractmethod
    async def publish(
        self, described: Mapping[str, Mapping[str, Any]], *, tenant: str | None = None
    ) -> None:
        """Publish descriptions of tasks, as `Task.describe` returns them, for submissions.

        They replace descriptions of the same name.
        """

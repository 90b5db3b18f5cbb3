"""Tasks: what workers published of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class Tasks(ABC):
    """Descriptions of tasks, which submissions follow."""

    @abstractmethod
    async def list(self, *, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        """Return what workers published of their tasks: those of all tenants and of this one.

        What a worker of the tenant published of a task replaces what one of all tenants did.
        """

    @abstractmethod
    async def publish(
        self, described: Mapping[str, Mapping[str, Any]], *, tenant: str | None = None
    ) -> None:
        """Publish descriptions of tasks, as `Task.describe` gives them; submissions follow them.

        Those of the same name are replaced.
        """

"""Lanes: pause, resume, drain; weights of tenants; retention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from holdfast.model.lanes import LaneView


class Lanes(ABC):
    """Operations on lanes. A lane exists without being created."""

    @abstractmethod
    async def pause(self, lane: str) -> None:
        """Stop claims from the lane until it is resumed. Running executions continue."""

    @abstractmethod
    async def resume(self, lane: str) -> None:
        """Resume a lane that is paused or draining."""

    @abstractmethod
    async def drain(self, lane: str) -> None:
        """Refuse new executions on the lane. Those already there still run."""

    @abstractmethod
    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        """Set tenants' weights in the lane's claims; None restores the default, 1."""

    @abstractmethod
    async def set_retention(
        self, keep_ms: Mapping[str, int | None], *, tenant: str | None = None
    ) -> None:
        """Set how long ended executions are kept, by final state; None restores the default.

        It applies to executions that end from now on.
        """

    @abstractmethod
    async def states(self) -> dict[str, str]:
        """Return the lanes that are not open: paused or draining."""

    @abstractmethod
    async def retention(self) -> dict[str | None, dict[str, int]]:
        """Return the retention settings in ms, by tenant and state; None stands for all tenants."""

    @abstractmethod
    async def views(self, *, tenant: str | None = None) -> Sequence[LaneView]:
        """Return all lanes; with a tenant, count only its executions and workers."""

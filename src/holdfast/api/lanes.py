"""Lanes: pause, resume, drain; shares of tenants; retention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from holdfast.model.lanes import LaneView


class Lanes(ABC):
    """Operations on lanes. A lane needs no creation: its name is enough."""

    @abstractmethod
    async def pause(self, lane: str) -> None:
        """Claim nothing from the lane until it is resumed; what runs goes on."""

    @abstractmethod
    async def resume(self, lane: str) -> None:
        """Open the lane again."""

    @abstractmethod
    async def drain(self, lane: str) -> None:
        """Accept nothing new on the lane; what is there runs."""

    @abstractmethod
    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        """Set tenants' shares of the lane's claims; None goes back to the default, 1."""

    @abstractmethod
    async def set_retention(
        self, keep_ms: Mapping[str, int | None], *, tenant: str | None = None
    ) -> None:
        """Set how long ended executions are kept, by state; None goes back to the default.

        It holds for executions that end from now on.
        """

    @abstractmethod
    async def states(self) -> dict[str, str]:
        """Return the lanes that are not open: paused or draining."""

    @abstractmethod
    async def retention(self) -> dict[str | None, dict[str, int]]:
        """Return what was set of retention, in ms by tenant and state; None is all tenants."""

    @abstractmethod
    async def views(self, *, tenant: str | None = None) -> Sequence[LaneView]:
        """Return what is known of each lane; with a tenant, only what concerns it."""

"""Lanes: pause, resume, drain; shares of tenants; retention."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.model import bounds, checks
from holdfast.model.states import TERMINAL
from holdfast.store.store import Store


class Lanes:
    """Operations on lanes. A lane needs no creation: its name is enough."""

    def __init__(self, store: Store) -> None:
        self._lanes = store.lanes

    async def pause(self, lane: str) -> None:
        """Claim nothing from the lane until it is resumed; what runs goes on."""
        await self._lanes.set_state(checks.name("lane", lane), "paused")

    async def resume(self, lane: str) -> None:
        """Open the lane again."""
        await self._lanes.set_state(checks.name("lane", lane), "open")

    async def drain(self, lane: str) -> None:
        """Accept nothing new on the lane; what is there runs."""
        await self._lanes.set_state(checks.name("lane", lane), "draining")

    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        """Set tenants' shares of the lane's claims; None goes back to the default, 1."""
        checks.name("lane", lane)
        for tenant, weight in checks.mapping("weights", weights).items():
            checks.name("tenant", tenant)
            if weight is not None:
                field = f"weights[{tenant}]"
                checks.number(field, weight, 1 / bounds.WEIGHT, bounds.WEIGHT)
        await self._lanes.set_weights(lane, weights)

    async def set_retention(
        self, keep_ms: Mapping[str, int | None], *, tenant: str | None = None
    ) -> None:
        """Set how long ended executions are kept, by state; None goes back to the default.

        It holds for executions that end from now on.
        """
        for state, keep in checks.mapping("keep_ms", keep_ms).items():
            checks.one_of("state", state, sorted(TERMINAL))
            if keep is not None:
                checks.integer(f"keep_ms[{state}]", keep, 0, bounds.DURATION_MS)
        owner = "*" if tenant is None else checks.name("tenant", tenant)
        await self._lanes.set_retention(owner, keep_ms)

    async def states(self) -> dict[str, str]:
        """Return the lanes that are not open: paused or draining."""
        settings = await self._lanes.settings()
        return {
            name.removeprefix("lane|"): state
            for name, state in settings.items()
            if name.startswith("lane|")
        }

    async def retention(self) -> dict[str | None, dict[str, int]]:
        """Return what was set of retention, in ms by tenant and state; None is all tenants."""
        return await self._lanes.by_tenant("keep")

"""Lanes: pause, resume, drain; shares of tenants; retention."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import final

from typing_extensions import override

from holdfast import api
from holdfast.model import bounds, checks
from holdfast.model.lanes import LaneView
from holdfast.model.states import TERMINAL, State
from holdfast.store.store import Store


@final
class Lanes(api.Lanes):
    """Operations on lanes. A lane needs no creation: its name is enough."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lanes = store.lanes

    @override
    async def pause(self, lane: str) -> None:
        await self._lanes.set_state(checks.name("lane", lane), "paused")

    @override
    async def resume(self, lane: str) -> None:
        await self._lanes.set_state(checks.name("lane", lane), "open")

    @override
    async def drain(self, lane: str) -> None:
        await self._lanes.set_state(checks.name("lane", lane), "draining")

    @override
    async def set_weights(self, lane: str, weights: Mapping[str, float | None]) -> None:
        checks.name("lane", lane)
        for tenant, weight in checks.mapping("weights", weights).items():
            checks.name("tenant", tenant)
            if weight is not None:
                field = f"weights[{tenant}]"
                checks.number(field, weight, 1 / bounds.WEIGHT, bounds.WEIGHT)
        await self._lanes.set_weights(lane, weights)

    @override
    async def set_retention(
        self, keep_ms: Mapping[str, int | None], *, tenant: str | None = None
    ) -> None:
        for state, keep in checks.mapping("keep_ms", keep_ms).items():
            checks.one_of("state", state, sorted(TERMINAL))
            if keep is not None:
                checks.integer(f"keep_ms[{state}]", keep, 0, bounds.DURATION_MS)
        owner = "*" if tenant is None else checks.name("tenant", tenant)
        await self._lanes.set_retention(owner, keep_ms)

    @override
    async def states(self) -> dict[str, str]:
        settings = await self._lanes.settings()
        return {
            name.removeprefix("lane|"): state
            for name, state in settings.items()
            if name.startswith("lane|")
        }

    @override
    async def retention(self) -> dict[str | None, dict[str, int]]:
        return await self._lanes.by_tenant("keep")

    @override
    async def views(self, *, tenant: str | None = None) -> Sequence[LaneView]:
        if tenant is not None:
            checks.name("tenant", tenant)
        counts, states, workers, settings = await asyncio.gather(
            self._store.queries.count(tenant),
            self.states(),
            self._store.workers.list(),
            self._lanes.settings(),
        )
        by_lane: dict[str, Counter[State]] = {}
        for cell in counts:
            by_lane.setdefault(cell.lane, Counter())[cell.state] += cell.count
        weights: dict[str, dict[str, float]] = {}
        for name, value in settings.items():
            kind, _, rest = name.partition("|")
            if kind == "weight":
                lane, _, owner = rest.partition("|")
                if tenant in {None, owner}:
                    weights.setdefault(lane, {})[owner] = float(value)
        served = Counter(
            lane
            for worker in workers
            if not worker.draining and (tenant is None or worker.tenant in {None, tenant})
            for lane in worker.lanes
        )
        return [
            LaneView(
                lane=lane,
                setting=states.get(lane, "open"),
                counts=dict(by_lane.get(lane, {})),
                workers=served[lane],
                weights=weights.get(lane, {}),
            )
            for lane in sorted({*by_lane, *states, *served, *weights})
        ]

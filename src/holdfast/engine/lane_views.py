"""What is known of each lane, put together from counts, settings and workers."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.model.lanes import LaneView
from holdfast.model.states import State

if TYPE_CHECKING:
    from holdfast.engine.engine import Engine


async def look(engine: Engine, *, tenant: str | None = None) -> list[LaneView]:
    """Return what is known of each lane; with a tenant, only what concerns it."""
    counts, states, workers, settings = await asyncio.gather(
        engine.count(tenant),
        engine.lanes.states(),
        engine.workers.list(),
        engine.store.lanes.settings(),
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

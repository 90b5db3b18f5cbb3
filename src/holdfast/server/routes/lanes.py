"""Lanes: list, pause, resume, drain, weights of tenants."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import Name, Tenants, View
from holdfast.server.views.paging import PageQuery

routes: Routes = Routes("lanes", "Lanes are global and exist without being created.")

Weight = Annotated[float, Meta(ge=1 / bounds.WEIGHT, le=bounds.WEIGHT)]


class LaneView(View):
    """A lane."""

    lane: str
    #: open, paused or draining.
    setting: str
    #: Executions by state. A key of one tenant counts its own.
    counts: dict[str, int]
    #: The number of workers that claim from it.
    workers: int
    #: The weights of tenants that differ from 1.
    weights: dict[str, float]


class LanePage(View):
    """The lanes that have executions, workers or settings."""

    items: list[LaneView]
    next_cursor: str | None = None


class LaneQuery(PageQuery):
    """Which lanes to return."""

    #: Count only the executions and workers of this tenant; all that the key may see if absent.
    tenant: Tenants | None = None


@routes.get("/v1/lanes")
async def list_lanes(call: Call, query: LaneQuery) -> LanePage:
    """List the lanes that have executions, workers or settings."""
    tenant = call.tenant if query.tenant else call.identity.tenant
    lanes = await call.engine.lanes.views(tenant=tenant)
    page, more = query.part(lanes, lambda lane: lane.lane)
    return LanePage(
        items=[
            LaneView(
                lane=lane.lane,
                setting=lane.setting,
                counts={state.value: count for state, count in lane.counts.items()},
                workers=lane.workers,
                weights=dict(lane.weights),
            )
            for lane in page
        ],
        next_cursor=more,
    )


class LaneSetting(View):
    """The new setting of a lane."""

    lane: str
    setting: str


@routes.post("/v1/lanes/{lane}/pause", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def pause(call: Call, lane: str) -> LaneSetting:
    """Stop claims from a lane until it is resumed. Running executions continue."""
    await call.engine.lanes.pause(lane)
    return LaneSetting(lane=lane, setting="paused")


@routes.post("/v1/lanes/{lane}/resume", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def resume(call: Call, lane: str) -> LaneSetting:
    """Resume a lane that is paused or draining."""
    await call.engine.lanes.resume(lane)
    return LaneSetting(lane=lane, setting="open")


@routes.post("/v1/lanes/{lane}/drain", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def drain(call: Call, lane: str) -> LaneSetting:
    """Refuse new executions on a lane. Those already there still run."""
    await call.engine.lanes.drain(lane)
    return LaneSetting(lane=lane, setting="draining")


class WeightsView(View):
    """The weights that were set."""

    lane: str
    weights: dict[str, float | None]


@routes.put(
    "/v1/lanes/{lane}/weights",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"acme": 2, "default": None},
)
async def weights(call: Call, lane: str, body: dict[Name, Weight | None]) -> WeightsView:
    """Set tenants' weights in a lane's claims; null restores the default, 1."""
    await call.engine.lanes.set_weights(lane, body)
    return WeightsView(lane=lane, weights=dict(body))

"""Lanes: what is on them, pause, resume, drain, tenants' shares."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import Name, View
from holdfast.server.views.paging import PageQuery

routes: Routes = Routes("lanes", "Lanes are global; a lane needs no creation.")

Weight = Annotated[float, Meta(ge=1 / bounds.WEIGHT, le=bounds.WEIGHT)]


class LaneView(View):
    """What is known of a lane."""

    lane: str
    #: open, paused or draining.
    setting: str
    #: Executions by state; a key of one tenant sees its own.
    counts: dict[str, int]
    #: Workers that claim from it.
    workers: int
    #: Shares of tenants, where they are not 1.
    weights: dict[str, float]


class LanePage(View):
    """The lanes that have executions, workers or settings."""

    items: list[LaneView]
    next_cursor: str | None = None


@routes.get("/v1/lanes")
async def list_lanes(call: Call, query: PageQuery) -> LanePage:
    """List the lanes that have executions, workers or settings."""
    found = await call.engine.lanes.views(tenant=call.identity.tenant)
    page, more = query.part(found, lambda one: one.lane)
    return LanePage(
        items=[
            LaneView(
                lane=one.lane,
                setting=one.setting,
                counts={state.value: count for state, count in one.counts.items()},
                workers=one.workers,
                weights=dict(one.weights),
            )
            for one in page
        ],
        next_cursor=more,
    )


class LaneSetting(View):
    """What a lane does now."""

    lane: str
    setting: str


@routes.post("/v1/lanes/{lane}/pause", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def pause(call: Call, lane: str) -> LaneSetting:
    """Claim nothing from a lane until it is resumed; what runs goes on."""
    await call.engine.lanes.pause(lane)
    return LaneSetting(lane=lane, setting="paused")


@routes.post("/v1/lanes/{lane}/resume", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def resume(call: Call, lane: str) -> LaneSetting:
    """Open a lane again."""
    await call.engine.lanes.resume(lane)
    return LaneSetting(lane=lane, setting="open")


@routes.post("/v1/lanes/{lane}/drain", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def drain(call: Call, lane: str) -> LaneSetting:
    """Accept nothing new on a lane; what is there runs."""
    await call.engine.lanes.drain(lane)
    return LaneSetting(lane=lane, setting="draining")


class WeightsView(View):
    """Shares that were set."""

    lane: str
    weights: dict[str, float | None]


@routes.put(
    "/v1/lanes/{lane}/weights",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"acme": 2, "default": None},
)
async def weights(call: Call, lane: str, body: dict[Name, Weight | None]) -> WeightsView:
    """Set tenants' shares of a lane's claims; null goes back to the default, 1."""
    await call.engine.lanes.set_weights(lane, body)
    return WeightsView(lane=lane, weights=dict(body))

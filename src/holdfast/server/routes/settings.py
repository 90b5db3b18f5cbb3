"""Settings of the whole system, for all tenants or for one: retention, bounds of streams."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.api_keys import Role
from holdfast.model.frames import StreamSettings
from holdfast.model.states import State
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import Body, DurationMs, Name, PositiveMs, View

routes: Routes = Routes("settings", "Retention and streams, for all tenants or for one.")


class TenantBody(Body):
    """For whom; absent: for all tenants that have no setting of their own."""

    tenant: Name | None = None


class RetentionBody(TenantBody, kw_only=True):
    """How long executions that ended in these states are kept; null: the default."""

    keep_ms: dict[State, DurationMs | None]


class RetentionView(View):
    """What was set for a tenant; null: for all."""

    tenant: str | None
    keep_ms: dict[str, int]


class RetentionPage(View):
    """What was set."""

    items: list[RetentionView]
    next_cursor: str | None = None


@routes.get("/v1/settings/retention", scope=Scope.SYSTEM)
async def retention(call: Call) -> RetentionPage:
    """Read how long ended executions are kept, where that was set."""
    found = await call.engine.lanes.retention()
    items = [RetentionView(tenant=tenant, keep_ms=keep) for tenant, keep in found.items()]
    return RetentionPage(items=items)


@routes.put(
    "/v1/settings/retention",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"tenant": "acme", "keep_ms": {"completed": 86_400_000, "failed": None}},
)
async def set_retention(call: Call, body: RetentionBody) -> RetentionView:
    """Set how long ended executions are kept, for those that end from now on."""
    keep_ms = {state.value: keep for state, keep in body.keep_ms.items()}
    await call.engine.lanes.set_retention(keep_ms, tenant=body.tenant)
    found = await call.engine.lanes.retention()
    return RetentionView(tenant=body.tenant, keep_ms=found.get(body.tenant, {}))


class BoundsBody(TenantBody):
    """How much of each stream is kept; what is absent goes back to the default."""

    frames: Annotated[int, Meta(ge=1, le=bounds.STREAM_FRAMES)] | None = None
    bytes: Annotated[int, Meta(ge=bounds.FRAME_BYTES, le=bounds.STREAM_BYTES)] | None = None
    age_ms: PositiveMs | None = None


class StreamsView(View):
    """What was set for a tenant; null: for all, and the default."""

    tenant: str | None
    frames: int | None
    bytes: int | None
    age_ms: int | None
    #: Live readers of one tenant on one server.
    tails: int | None

    @classmethod
    def of(cls, tenant: str | None, one: StreamSettings) -> StreamsView:
        """Show what was set."""
        return cls(
            tenant=tenant, frames=one.frames, bytes=one.size, age_ms=one.age_ms, tails=one.tails
        )


class StreamsPage(View):
    """What was set."""

    items: list[StreamsView]
    next_cursor: str | None = None


@routes.get("/v1/settings/streams", scope=Scope.SYSTEM)
async def streams(call: Call) -> StreamsPage:
    """Read the bounds of streams and the numbers of their readers, where they were set."""
    found = await call.engine.streams.settings()
    return StreamsPage(items=[StreamsView.of(tenant, one) for tenant, one in found.items()])


@routes.put(
    "/v1/settings/streams",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"tenant": "acme", "frames": 1_000, "age_ms": 3_600_000},
)
async def set_bounds(call: Call, body: BoundsBody) -> StreamsView:
    """Set how much of each stream is kept; the oldest frames go first."""
    await call.engine.streams.set_bounds(
        tenant=body.tenant, frames=body.frames, size=body.bytes, age_ms=body.age_ms
    )
    return await _of(call, body.tenant)


class TailsBody(TenantBody, kw_only=True):
    """How many live readers of streams a tenant may have on one server; null: the default."""

    most: Annotated[int, Meta(ge=0, le=bounds.TAILS)] | None


@routes.put(
    "/v1/settings/tails",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"tenant": "acme", "most": 500},
)
async def set_tails(call: Call, body: TailsBody) -> StreamsView:
    """Set how many live readers of streams a tenant may have on one server."""
    await call.engine.streams.set_tails(body.most, tenant=body.tenant)
    return await _of(call, body.tenant)


async def _of(call: Call, tenant: str | None) -> StreamsView:
    found = await call.engine.streams.settings()
    return StreamsView.of(tenant, found.get(tenant, StreamSettings()))

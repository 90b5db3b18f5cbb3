"""System settings, for all tenants or for one: retention and bounds of streams."""

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

routes: Routes = Routes("settings", "Retention and bounds of streams, for all tenants or for one.")


class TenantBody(Body):
    """The tenant; if absent, all tenants without a setting of their own."""

    tenant: Name | None = None


class RetentionBody(TenantBody, kw_only=True):
    """How long ended executions are kept, by final state; null restores the default."""

    keep_ms: dict[State, DurationMs | None]


class RetentionView(View):
    """The setting of a tenant, or of all tenants if `tenant` is null."""

    tenant: str | None
    keep_ms: dict[str, int]


class RetentionPage(View):
    """The settings."""

    items: list[RetentionView]
    next_cursor: str | None = None


@routes.get("/v1/settings/retention", scope=Scope.SYSTEM)
async def retention(call: Call) -> RetentionPage:
    """Read the retention settings."""
    settings = await call.engine.lanes.retention()
    items = [RetentionView(tenant=tenant, keep_ms=keep) for tenant, keep in settings.items()]
    return RetentionPage(items=items)


@routes.put(
    "/v1/settings/retention",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"tenant": "acme", "keep_ms": {"completed": 86_400_000, "failed": None}},
)
async def set_retention(call: Call, body: RetentionBody) -> RetentionView:
    """Set how long executions that end from now on are kept."""
    keep_ms = {state.value: keep for state, keep in body.keep_ms.items()}
    await call.engine.lanes.set_retention(keep_ms, tenant=body.tenant)
    settings = await call.engine.lanes.retention()
    return RetentionView(tenant=body.tenant, keep_ms=settings.get(body.tenant, {}))


class BoundsBody(TenantBody):
    """How much of each stream is kept. Absent fields return to the default."""

    frames: Annotated[int, Meta(ge=1, le=bounds.STREAM_FRAMES)] | None = None
    bytes: Annotated[int, Meta(ge=bounds.FRAME_BYTES, le=bounds.STREAM_BYTES)] | None = None
    age_ms: PositiveMs | None = None


class StreamsView(View):
    """The setting of a tenant, or of all tenants if `tenant` is null; null is the default."""

    tenant: str | None
    frames: int | None
    bytes: int | None
    age_ms: int | None
    #: The most live readers of one tenant on one server.
    tails: int | None

    @classmethod
    def of(cls, tenant: str | None, bounds: StreamSettings) -> StreamsView:
        """Show a setting."""
        return cls(
            tenant=tenant,
            frames=bounds.frames,
            bytes=bounds.size,
            age_ms=bounds.age_ms,
            tails=bounds.tails,
        )


class StreamsPage(View):
    """The settings."""

    items: list[StreamsView]
    next_cursor: str | None = None


@routes.get("/v1/settings/streams", scope=Scope.SYSTEM)
async def streams(call: Call) -> StreamsPage:
    """Read the settings of streams: their bounds and the numbers of their readers."""
    settings = await call.engine.streams.settings()
    return StreamsPage(
        items=[StreamsView.of(tenant, bounds) for tenant, bounds in settings.items()]
    )


@routes.put(
    "/v1/settings/streams",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"tenant": "acme", "frames": 1_000, "age_ms": 3_600_000},
)
async def set_bounds(call: Call, body: BoundsBody) -> StreamsView:
    """Set how much of each stream is kept. The oldest frames are removed first."""
    await call.engine.streams.set_bounds(
        tenant=body.tenant, frames=body.frames, size=body.bytes, age_ms=body.age_ms
    )
    return await _of(call, body.tenant)


class TailsBody(TenantBody, kw_only=True):
    """How many live readers of streams a tenant can have on one server; null is the default."""

    most: Annotated[int, Meta(ge=0, le=bounds.TAILS)] | None


@routes.put(
    "/v1/settings/tails",
    role=Role.OPERATOR,
    scope=Scope.SYSTEM,
    example={"tenant": "acme", "most": 500},
)
async def set_tails(call: Call, body: TailsBody) -> StreamsView:
    """Set how many live readers of streams a tenant can have on one server."""
    await call.engine.streams.set_tails(body.most, tenant=body.tenant)
    return await _of(call, body.tenant)


async def _of(call: Call, tenant: str | None) -> StreamsView:
    settings = await call.engine.streams.settings()
    return StreamsView.of(tenant, settings.get(tenant, StreamSettings()))

"""Probes and metrics, for orchestrators and Prometheus."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from holdfast.errors import StoreUnavailable
from holdfast.model.api_keys import Role
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes, Scope
from holdfast.server.views.fields import View

routes: Routes = Routes("system", "Probes and metrics.")


class HealthView(View):
    """The status of the server."""

    status: str


@routes.get("/healthz", scope=Scope.PUBLIC)
async def healthz(call: Call) -> HealthView:  # noqa: ARG001
    """Check that the process is running."""
    return HealthView(status="ok")


@routes.get("/readyz", scope=Scope.PUBLIC, errors=(StoreUnavailable,))
async def readyz(call: Call) -> HealthView:
    """Check readiness: the store answers, the library is loaded, the services run."""
    if call.services.closing.is_set():
        raise StoreUnavailable("the server is stopping")
    await call.ping()
    for service in call.services.stopped():
        raise StoreUnavailable(f"the service {service.name} is restarting: {service.last_error}")
    return HealthView(status="ready")


class PulseView(View):
    """The health of the store."""

    #: How late the most overdue timer is.
    late_ms: int
    #: How long the oldest waiting execution of each lane has waited.
    waiting_ms: dict[str, int]
    #: Counts of incidents since the store was created.
    incidents: dict[str, int]


@routes.get("/v1/pulse", scope=Scope.SYSTEM)
async def pulse(call: Call) -> PulseView:
    """Read the health of the store: waiting times, overdue timers, incidents."""
    found = await call.engine.pulse()
    return PulseView(
        late_ms=round(found.late_s * 1000),
        waiting_ms={lane: round(age_s * 1000) for lane, age_s in found.waiting_s.items()},
        incidents=dict(found.incidents),
    )


@routes.get("/metrics", role=Role.VIEWER, scope=Scope.SYSTEM, media_type=CONTENT_TYPE_LATEST)
async def metrics(call: Call) -> Response:
    """Return the metrics for Prometheus."""
    services = call.services
    text = await services.metrics.render(
        call.engine, waits=services.waits.total, tails=services.tails.total
    )
    return Response(text, media_type=CONTENT_TYPE_LATEST)

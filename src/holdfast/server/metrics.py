"""Figures for Prometheus. Labels are bounded: routes, methods, classes of status, lanes, states."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from holdfast.engine import Engine
from holdfast.model.executions import Claim
from holdfast.server.declare import Route

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The figures of one server process."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self._requests = Counter(
            "holdfast_http_requests_total",
            "Calls answered.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "holdfast_http_request_seconds",
            "Time until a call was answered; long polls wait on purpose.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self.registry,
        )

    def claimed(self, claims: Sequence[Claim], lease_ms: int) -> None:
        """Note how long claimed executions had waited."""

    async def render(self, engine: Engine) -> bytes:
        """Return all figures as text."""
        del engine
        return generate_latest(self.registry)

    def answered(self, route: Route, status: int, seconds: float) -> None:
        """Count a call."""
        self._requests.labels(route.method, route.path, str(status)).inc()
        self._seconds.labels(route.method, route.path).observe(seconds)

"""Traces with OpenTelemetry, where the process has set it up; otherwise nothing, at no cost.

An execution carries the `traceparent` of its submission. Each attempt is a span of that trace, on
whatever worker and whenever it runs; steps and waits are spans inside it. Spans have names and ids,
never payloads.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from holdfast.model.executions import Claim

log: logging.Logger = logging.getLogger(__name__)

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
STATUS = "http.response.status_code"
_FIRST_FAILURE = 500
_TRACEPARENT = "traceparent"
_NAME = "holdfast"


def _is_set_up() -> bool:
    """Whether somebody in this process uses OpenTelemetry; we never load it by ourselves."""
    return "opentelemetry.sdk.trace" in sys.modules


def current_traceparent() -> str | None:
    """Return the place in a trace at which we are, if there is one."""
    if not _is_set_up():
        return None
    from opentelemetry import propagate  # noqa: PLC0415 - an extra

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get(_TRACEPARENT)


@contextlib.contextmanager
def submission(kind: str, tenant: str) -> Iterator[None]:
    """Make a span of a submission; what is submitted belongs to it."""
    if not _is_set_up():
        yield
        return
    from opentelemetry import trace  # noqa: PLC0415 - an extra

    with trace.get_tracer(_NAME).start_as_current_span(
        f"submit {kind}",
        kind=trace.SpanKind.PRODUCER,
        attributes={"holdfast.kind": kind, "holdfast.tenant": tenant},
    ):
        yield


@contextlib.contextmanager
def answering(method: str, route: str, headers: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Make a span of a call that we answer, in its caller's trace; yields what is said of it."""
    said: dict[str, Any] = {"http.request.method": method, "http.route": route}
    if not _is_set_up():
        yield said
        return
    from opentelemetry import propagate, trace  # noqa: PLC0415 - an extra

    with trace.get_tracer(_NAME).start_as_current_span(
        f"{method} {route}", context=propagate.extract(headers), kind=trace.SpanKind.SERVER
    ) as span:
        yield said
        span.set_attributes({name: value for name, value in said.items() if value is not None})
        if said.get(STATUS, 0) >= _FIRST_FAILURE:
            span.set_status(trace.StatusCode.ERROR)


class Trace:
    """The spans of one attempt."""

    def __init__(self) -> None:
        self._context: Any = None

    @contextlib.contextmanager
    def attempt(self, claim: Claim) -> Iterator[None]:
        """Make a span of an attempt."""
        if not _is_set_up():
            yield
            return
        from opentelemetry import propagate, trace  # noqa: PLC0415 - an extra

        carrier = {} if claim.traceparent is None else {_TRACEPARENT: claim.traceparent}
        attributes: dict[str, Any] = {
            "holdfast.execution": claim.id,
            "holdfast.tenant": claim.tenant,
            "holdfast.lane": claim.lane,
            "holdfast.attempt": claim.lease.attempt,
            "holdfast.attempt.kind": claim.attempt_kind.value,
        }
        with trace.get_tracer(_NAME).start_as_current_span(
            claim.kind, context=propagate.extract(carrier), attributes=attributes
        ) as span:
            self._context = trace.set_span_in_context(span)
            try:
                yield
            finally:
                self._context = None

    def step(self, name: str) -> AbstractContextManager[None]:
        """Make a span of a step that runs; one that is found in the journal has none."""
        return self._span(f"step {name}")

    def wait(self, what: str) -> AbstractContextManager[None]:
        """Make a span of a wait; one that gives the lease back ends there, as its attempt does."""
        return self._span(f"wait {what}")

    def fail(self, error: BaseException) -> None:
        """Say that the attempt failed."""
        if self._context is None:
            return
        from opentelemetry import trace  # noqa: PLC0415 - an extra

        span = trace.get_current_span(self._context)
        span.record_exception(error)
        span.set_status(trace.StatusCode.ERROR, type(error).__name__)

    @contextlib.contextmanager
    def _span(self, name: str) -> Iterator[None]:
        if self._context is None:
            yield
            return
        from opentelemetry import trace  # noqa: PLC0415 - an extra

        # The parent is named: a step may run in a thread, which knows nothing of our context.
        with trace.get_tracer(_NAME).start_as_current_span(name, context=self._context):
            yield


def set_up_from_environment(service: str) -> bool:
    """Export traces where the environment says, if the extra is installed."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return False
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        log.warning("traces are not exported: install holdfast[otel]")
        return False
    name = os.environ.get("OTEL_SERVICE_NAME", service)
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True

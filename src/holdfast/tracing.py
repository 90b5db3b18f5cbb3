"""Traces with OpenTelemetry, if the process has set it up; otherwise they cost nothing.

An execution carries the `traceparent` of its submission. Each attempt is a span of that trace, no
matter when and on which worker it runs; steps and waits are spans inside it. Spans have names and
ids, never payloads.
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
_NO_SPAN = contextlib.nullcontext()


def is_set_up() -> bool:
    """Whether this process uses OpenTelemetry; Holdfast never loads it on its own."""
    return "opentelemetry.sdk.trace" in sys.modules


def current_traceparent() -> str | None:
    """Return the `traceparent` of the current span, if there is one."""
    if not is_set_up():
        return None
    from opentelemetry import propagate

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get(_TRACEPARENT)


@contextlib.contextmanager
def submission(kind: str, tenant: str) -> Iterator[None]:
    """Open a span for a submission; the submitted executions belong to it."""
    if not is_set_up():
        yield
        return
    from opentelemetry import trace

    with trace.get_tracer(_NAME).start_as_current_span(
        f"submit {kind}",
        kind=trace.SpanKind.PRODUCER,
        attributes={"holdfast.kind": kind, "holdfast.tenant": tenant},
    ):
        yield


@contextlib.contextmanager
def answering(method: str, route: str, headers: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Open a span for an incoming call, in its caller's trace; yields its attributes."""
    attributes: dict[str, Any] = {"http.request.method": method, "http.route": route}
    if not is_set_up():
        yield attributes
        return
    from opentelemetry import propagate, trace

    with trace.get_tracer(_NAME).start_as_current_span(
        f"{method} {route}", context=propagate.extract(headers), kind=trace.SpanKind.SERVER
    ) as span:
        yield attributes
        span.set_attributes(
            {name: value for name, value in attributes.items() if value is not None}
        )
        if attributes.get(STATUS, 0) >= _FIRST_FAILURE:
            span.set_status(trace.StatusCode.ERROR)


class Trace:
    """The spans of one attempt."""

    def __init__(self) -> None:
        self._context: Any = None

    def attempt(self, claim: Claim) -> AbstractContextManager[None]:
        """Open a span for an attempt."""
        return self._attempt(claim) if is_set_up() else _NO_SPAN

    @contextlib.contextmanager
    def _attempt(self, claim: Claim) -> Iterator[None]:
        from opentelemetry import propagate, trace

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
        """Open a span for a step that runs; a step that is read from the journal has none."""
        return _NO_SPAN if self._context is None else self._span(f"step {name}")

    def wait(self, what: str) -> AbstractContextManager[None]:
        """Open a span for a wait; it ends with its attempt if the wait returns the lease."""
        return _NO_SPAN if self._context is None else self._span(f"wait {what}")

    def fail(self, error: BaseException) -> None:
        """Mark the span of the attempt as failed."""
        if self._context is None:
            return
        from opentelemetry import trace

        span = trace.get_current_span(self._context)
        span.record_exception(error)
        span.set_status(trace.StatusCode.ERROR, type(error).__name__)

    @contextlib.contextmanager
    def _span(self, name: str) -> Iterator[None]:
        from opentelemetry import trace

        # The parent is explicit: a step may run in a thread, which does not have this context.
        with trace.get_tracer(_NAME).start_as_current_span(name, context=self._context):
            yield


def set_up_from_environment(service: str) -> bool:
    """Export traces to the endpoint that the environment names, if the extra is installed."""
    if not any(os.environ.get(name) for name in _ENDPOINTS):
        return False
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("traces are not exported: install holdfast[otel]")
        return False
    name = os.environ.get("OTEL_SERVICE_NAME", service)
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return True

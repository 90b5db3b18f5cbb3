"""One trace from the submission over attempts, steps, waits and children."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast import App, Context, SyncContext
from holdfast.testing.polling import wait_for
from tests.integration.worker.conftest import Working, at_once

#: The worker protocol must do for these what the store does.
ALSO_OVER_HTTP = True

_provider = TracerProvider()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """All spans that end during the test."""
    if trace.get_tracer_provider() is not _provider:
        trace.set_tracer_provider(_provider)
    exporter = InMemorySpanExporter()
    _provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


async def ended(spans: InMemorySpanExporter, count: int) -> dict[str, list[ReadableSpan]]:
    """Wait until so many spans have ended; returns them by name."""

    async def enough() -> bool:
        ours = [one for one in spans.get_finished_spans() if "/v1/" not in one.name]
        return len(ours) >= count

    await wait_for(enough)
    found: dict[str, list[ReadableSpan]] = {}
    for span in spans.get_finished_spans():
        if "/v1/" in span.name and span.parent is None:
            # A heartbeat or a claim over HTTP, which belongs to nobody's trace.
            continue
        found.setdefault(span.name, []).append(span)
    return found


async def test_a_trace_goes_from_the_submission_to_the_last_step(
    app: App, working: Working, spans: InMemorySpanExporter
) -> None:
    """Retries, steps in threads, and children are all in it."""

    @app.task
    def child(ctx: SyncContext) -> int:
        return ctx.step("blocking", int)

    @app.task(retries=at_once(2))
    async def parent(ctx: Context) -> int:
        await ctx.step("once", int)
        if ctx.attempt == 0:
            raise ValueError
        return await ctx.result(await ctx.submit(child))

    async with working():
        with trace.get_tracer("test").start_as_current_span("request") as request:
            handle = await parent.submit()
        assert await handle.result(timeout=8) == 0
        found = await ended(spans, 9)
    trace_id = request.get_span_context().trace_id
    everything = [span for group in found.values() for span in group]
    assert {span.context.trace_id for span in everything if span.context} == {trace_id}
    first, second = found["parent"]
    assert [span.status.is_ok for span in (first, second)] == [False, True]
    assert [(span.attributes or {})["holdfast.attempt.kind"] for span in (first, second)] == [
        "initial",
        "retry",
    ]
    (once,) = found["step once"]
    assert once.parent is not None
    assert first.context is not None
    assert once.parent.span_id == first.context.span_id
    (blocking,), (run,) = found["step blocking"], found["child"]
    assert blocking.parent is not None
    assert run.context is not None
    assert blocking.parent.span_id == run.context.span_id
    assert len([name for name in found if name.startswith("wait ")]) == 1


async def test_a_submission_without_a_trace_starts_one(
    app: App, working: Working, spans: InMemorySpanExporter
) -> None:
    """All attempts are in it."""

    @app.task(retries=at_once(2))
    async def work(ctx: Context) -> None:
        if ctx.attempt == 0:
            raise ValueError

    async with working():
        handle = await work.submit()
        await handle.result(timeout=8)
        found = await ended(spans, 3)
    (submitted,) = found["submit work"]
    assert submitted.parent is None
    assert submitted.context is not None
    parents = [span.parent.span_id for span in found["work"] if span.parent is not None]
    assert parents == [submitted.context.span_id] * 2

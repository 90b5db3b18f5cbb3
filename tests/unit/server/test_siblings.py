"""Metrics of several processes, as one of them answers for all."""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from holdfast.server.siblings import Siblings

#: A process that has ended: no system has so many.
ENDED = "4194305"


class Process:
    """The metrics of one process."""

    def __init__(self, folder: Path) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.calls = Counter("holdfast_calls_total", "Calls.", ["route"], registry=registry)
        self.took = Histogram("holdfast_seconds", "Time.", buckets=(1, 2), registry=registry)
        self.open = Gauge("holdfast_http_live_streams", "Open.", registry=registry)
        self.lanes = Gauge("holdfast_executions", "Of the store.", registry=registry)
        self.siblings = Siblings(folder, registry)

    def said(self) -> list[str]:
        """Return the samples that a scrape of this process gets."""
        everyone = CollectorRegistry()
        everyone.register(self.siblings)
        lines = generate_latest(everyone).decode().splitlines()
        return [line for line in lines if not line.startswith("#") and "_created" not in line]


def test_a_process_answers_for_all(tmp_path: Path) -> None:
    """What they count is summed; what the store says is said once."""
    other, own = Process(tmp_path), Process(tmp_path)
    for process, calls in ((other, 2), (own, 3)):
        process.calls.labels("/a").inc(calls)
        process.took.observe(calls)
        process.open.set(calls)
        process.lanes.set(7)
    other.calls.labels("/b").inc()
    other.siblings.leave()
    (tmp_path / str(os.getpid())).rename(tmp_path / str(os.getppid()))
    assert own.said() == [
        'holdfast_calls_total{route="/a"} 5.0',
        'holdfast_calls_total{route="/b"} 1.0',
        'holdfast_seconds_bucket{le="1.0"} 0.0',
        'holdfast_seconds_bucket{le="2.0"} 1.0',
        'holdfast_seconds_bucket{le="+Inf"} 2.0',
        "holdfast_seconds_count 2.0",
        "holdfast_seconds_sum 5.0",
        "holdfast_http_live_streams 5.0",
        "holdfast_executions 7.0",
    ]


def test_what_a_process_counted_outlives_it(tmp_path: Path) -> None:
    """What it had open does not."""
    other, own = Process(tmp_path), Process(tmp_path)
    other.calls.labels("/a").inc(2)
    other.open.set(4)
    other.siblings.leave()
    (tmp_path / str(os.getpid())).rename(tmp_path / ENDED)
    said = own.said()
    assert 'holdfast_calls_total{route="/a"} 2.0' in said
    assert "holdfast_http_live_streams 0.0" in said

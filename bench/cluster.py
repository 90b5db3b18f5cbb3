"""A cluster of three primaries beside one server: the processor time of each node per execution.

The nodes and the caller share the machine's cores, so a cluster is not faster here. The figures
show how evenly the work is spread, and what an execution costs all nodes together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench import workloads
from bench.processes import processor_seconds
from holdfast.engine import open_engine
from holdfast.testing.servers import TestServer, start_cluster, start_server

COUNT = 20_000
_DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


async def measure_cluster() -> dict[str, float]:
    """Measure the same work on one server and on a cluster."""
    with start_server(*_DURABLE) as server:
        alone = await _work(f"valkey://127.0.0.1:{server.port}", [server])
    with start_cluster(*_DURABLE) as nodes:
        addresses = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
        spread = await _work(f"valkey-cluster://{addresses}", nodes)
    return {
        "one server: end to end /s": alone.rate,
        "one server: us per execution": alone.total,
        "cluster: end to end /s": spread.rate,
        **{f"cluster: node {n}, us per execution": us for n, us in enumerate(spread.nodes, 1)},
        "cluster: all nodes, us per execution": spread.total,
        "cluster / one server, us": spread.total / alone.total,
    }


@dataclass(frozen=True, slots=True)
class _Cost:
    """The rate of some work, and the microseconds of each node per execution."""

    rate: float
    nodes: Sequence[float]

    @property
    def total(self) -> float:
        return sum(self.nodes)


async def _work(url: str, nodes: Sequence[TestServer]) -> _Cost:
    payload = b'"' + b"x" * 98 + b'"'
    async with open_engine(url) as engine:
        await workloads.end_to_end(engine, COUNT // 10, payload)
        before = [processor_seconds(node.process.pid) for node in nodes]
        done = await workloads.timed(COUNT, lambda: workloads.end_to_end(engine, COUNT, payload))
        after = [processor_seconds(node.process.pid) for node in nodes]
    costs = [(end - start) / COUNT * 1e6 for start, end in zip(before, after, strict=True)]
    return _Cost(done.per_second, costs)

"""make bench: one run, one table, bench/results/latest.json.

Rates are also given as ratios to a raw list queue (RPUSH, LMPOP 100, SET a result) through the
same client and batching in the same run: the machines are noisy, ratios less so.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from statistics import median, quantiles
from typing import Any

from bench import workloads
from bench.archive import measure_archive, measure_leases
from bench.channels import measure_channels
from bench.cluster import measure_cluster
from bench.components import measure_components
from bench.console import measure_console
from bench.conversations import measure_conversations
from bench.costs import flat_costs
from bench.flows import measure_flows
from bench.graphs import measure_graphs
from bench.http import measure_http
from bench.isolation import measure_isolation
from bench.limits import measure_limits
from bench.logs import measure_logs
from bench.pages import measure_pages
from bench.queues import measure_queues, queue_costs
from bench.report import RESULTS, Figures, machine, run, table
from bench.routing import measure_routing
from bench.sdk import measure_sdk
from bench.streams import measure_streams
from bench.waits import measure_waits
from holdfast import garbage
from holdfast.engine import Engine, open_engine

SIZES = (100, 4096)
COUNT = 20_000
WAKE_ROUNDS = 500
ARCHIVED = 100_000
#: Of the workers that are measured in this process.
SLOTS = 400

Part = Callable[[], Awaitable[Figures]]


async def info(engine: Engine, section: str, field: str) -> float:
    """Return a number from INFO."""
    text = (await engine.store.client.call(["INFO", section])).decode()
    match = re.search(rf"{field}[:=]([\d.]+)", text)
    return float(match[1]) if match else 0.0


async def function_us(engine: Engine) -> float:
    """Return the server's microseconds in functions so far."""
    text = (await engine.store.client.call(["INFO", "commandstats"])).decode()
    return sum(float(us) for us in re.findall(r"cmdstat_fcall\w*:calls=\d+,usec=(\d+)", text))


async def measure_size(engine: Engine, size: int) -> Figures:
    """Measure the life of executions with inputs of a size."""
    payload = b'"' + b"x" * (size - 2) + b'"'
    client = engine.store.client
    figures: Figures = {}

    async def rate(name: str, work: Any) -> None:
        done = await workloads.timed(COUNT, work)
        figures[f"{name} /s"] = done.per_second

    await rate("raw end to end", lambda: workloads.raw_end_to_end(client, "raw", COUNT, payload))
    await rate("raw push", lambda: workloads.raw_push(client, "raw2", COUNT, payload))
    await rate("raw drain", lambda: workloads.raw_drain(client, "raw2", COUNT))
    memory = await info(engine, "memory", "used_memory_dataset")
    busy = await function_us(engine)
    await rate("submit", lambda: workloads.submit(engine, COUNT, payload))
    await rate("claim+complete", lambda: workloads.drain(engine, COUNT))
    figures["Valkey us per execution"] = (await function_us(engine) - busy) / COUNT
    figures["bytes per finished execution"] = (
        await info(engine, "memory", "used_memory_dataset") - memory
    ) / COUNT
    await rate("end to end", lambda: workloads.end_to_end(engine, COUNT, payload))
    figures["submit / raw push"] = figures["submit /s"] / figures["raw push /s"]
    figures["claim+complete / raw drain"] = figures["claim+complete /s"] / figures["raw drain /s"]
    figures["end to end / raw"] = figures["end to end /s"] / figures["raw end to end /s"]
    return figures


async def measure_wake_up(engine: Engine) -> Figures:
    """Measure how fast an idle worker gets new work."""
    latencies = [s * 1000 for s in await workloads.wake_up_latencies(engine, WAKE_ROUNDS)]
    return {
        "submit to claim, idle, p50 ms": median(latencies),
        "submit to claim, idle, p99 ms": quantiles(latencies, n=100)[98],
    }


def _on_engine(work: Callable[..., Awaitable[Figures]], *options: int) -> Part:
    async def part() -> Figures:
        with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
            async with open_engine(f"embedded://{folder}") as engine:
                return await work(engine, *options)

    return part


async def _measure_pages() -> Figures:
    return await measure_pages() | await measure_console()


def parts(backlog: int) -> dict[str, Part]:
    """Return all parts by name, in the order of the table."""
    deep = {
        "queues, us per message": _on_engine(queue_costs, backlog),
        "us per call by backlog": _on_engine(flat_costs, backlog),
    }
    return {
        **{f"{size} B input": _on_engine(measure_size, size) for size in SIZES},
        "latency": _on_engine(measure_wake_up),
        "cluster": measure_cluster,
        "streams": _on_engine(measure_streams),
        "limits": _on_engine(measure_limits),
        "SDK": measure_sdk,
        "logs": measure_logs,
        "waiting": measure_waits,
        "channels": measure_channels,
        "conversations": measure_conversations,
        "graphs": measure_graphs,
        "flows": measure_flows,
        "isolation": measure_isolation,
        "components": measure_components,
        "routing": _on_engine(measure_routing),
        "queues": _on_engine(measure_queues),
        "writer leases": _on_engine(measure_leases),
        "archive": _on_engine(measure_archive, ARCHIVED),
        "HTTP": measure_http,
        "pages": _measure_pages,
        **(deep if backlog else {}),
    }


async def measure(chosen: Mapping[str, Part], results: dict[str, Figures]) -> None:
    """Measure parts, each on fresh embedded stores with fsync=always."""
    for name, part in chosen.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        results[name] = await part()


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("part", nargs="*", help="measure these only, and keep latest.json")
    parser.add_argument("--backlog", type=int, default=1_000_000, help="0 skips it")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    known = parts(options.backlog)
    if unknown := [name for name in options.part if name not in known]:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {'; '.join(known)}")
    chosen = {name: known[name] for name in options.part} or known
    results: dict[str, Figures] = {}
    # Workers run in this process, as `holdfast worker` runs them in theirs.
    garbage.search_rarely(SLOTS * garbage.OBJECTS_OF_SLOT)
    try:
        run(measure(chosen, results))
    except KeyboardInterrupt:
        print("interrupted; what was measured so far:", file=sys.stderr)
    report = {"machine": machine(), "executions": COUNT, "results": results}
    if not options.part:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "latest.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2) if options.json else table(results))


if __name__ == "__main__":
    main()

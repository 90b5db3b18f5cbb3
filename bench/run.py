"""make bench: one run, one table, bench/results/latest.json.

Rates are also given as ratios to a raw list queue (RPUSH, LMPOP 100, SET a result) through the
same client and batching in the same run: the machines are noisy, ratios less so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench import workloads
from bench.archive import measure_archive, measure_leases
from bench.channels import measure_channels
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
from bench.routing import measure_routing
from bench.sdk import measure_sdk
from bench.streams import measure_streams
from bench.waits import measure_waits
from holdfast.engine import Engine, open_engine

RESULTS = Path(__file__).parent / "results"
SIZES = (100, 4096)
COUNT = 20_000
WAKE_ROUNDS = 500
ARCHIVED = 100_000

Figures = dict[str, float]


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop if it is installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


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


async def measure(results: dict[str, Figures], *, backlog: int) -> None:
    """Run everything on fresh embedded stores with fsync=always."""
    for size in SIZES:
        async with _fresh_engine() as engine:
            print(f"executions with {size} B input ...", flush=True)
            results[f"{size} B input"] = await measure_size(engine, size)
    async with _fresh_engine() as engine:
        print("wake-up of an idle worker ...", flush=True)
        results["latency"] = await measure_wake_up(engine)
    async with _fresh_engine() as engine:
        print("streams ...", flush=True)
        results["streams"] = await measure_streams(engine)
        print("budgets and quotas ...", flush=True)
        results["limits"] = await measure_limits(engine)
    print("tasks of the SDK ...", flush=True)
    results["SDK"] = await measure_sdk()
    print("log lines of tasks ...", flush=True)
    results["logs"] = await measure_logs()
    print("waiting for signals ...", flush=True)
    results["waiting"] = await measure_waits()
    print("channels ...", flush=True)
    results["channels"] = await measure_channels()
    print("conversations ...", flush=True)
    results["conversations"] = await measure_conversations()
    print("graphs of tasks ...", flush=True)
    results["graphs"] = await measure_graphs()
    print("flows ...", flush=True)
    results["flows"] = await measure_flows()
    print("isolation of tenants ...", flush=True)
    results["isolation"] = await measure_isolation()
    print("components ...", flush=True)
    results["components"] = await measure_components()
    async with _fresh_engine() as engine:
        print("routing ...", flush=True)
        results["routing"] = await measure_routing(engine)
    async with _fresh_engine() as engine:
        print("message queues ...", flush=True)
        results["queues"] = await measure_queues(engine)
        if backlog:
            results["queues, us per message"] = await queue_costs(engine, backlog)
    async with _fresh_engine() as engine:
        print("writer leases ...", flush=True)
        results["writer leases"] = await measure_leases(engine)
        print(f"archive of {ARCHIVED:,} executions ...", flush=True)
        results["archive"] = await measure_archive(engine, ARCHIVED)
    print("the HTTP server ...", flush=True)
    results["HTTP"] = await measure_http()
    results["pages"] = await measure_pages() | await measure_console()
    if backlog:
        async with _fresh_engine() as engine:
            print(f"cost per call with up to {backlog:,} waiting ...", flush=True)
            results["us per call by backlog"] = await flat_costs(engine, backlog)


class _fresh_engine:  # noqa: N801 - used like a function
    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="holdfast-bench-")
        self._engine = open_engine(f"embedded://{self._folder}")

    async def __aenter__(self) -> Engine:
        return await self._engine.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await self._engine.__aexit__(*error)  # type: ignore[arg-type]
        shutil.rmtree(self._folder, ignore_errors=True)


def machine() -> dict[str, Any]:
    """Describe the machine of this run."""
    git = shutil.which("git") or "git"
    commit = subprocess.run(
        [git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    cpuinfo = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else []
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "fsync": "always",
        "executions": COUNT,
    }


def table(results: dict[str, Figures]) -> str:
    """Format the results as a table."""
    lines = []
    for title, figures in results.items():
        lines.append(f"\n{title}")
        for name, value in figures.items():
            shown = f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
            lines.append(f"  {name:<44}{shown:>12}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print and save the results."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--backlog", type=int, default=1_000_000, help="0 skips it")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    results: dict[str, Figures] = {}
    try:
        run(measure(results, backlog=options.backlog))
    except KeyboardInterrupt:
        print("interrupted; what was measured so far:", file=sys.stderr)
    report = {"machine": machine(), "results": results}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latest.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2) if options.json else table(results))


if __name__ == "__main__":
    main()

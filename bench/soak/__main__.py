"""python -m bench.soak: steady load with faults every few seconds; nothing may grow or be lost.

It first measures how many executions a second the processes can do, and then offers 70 % of that,
or the rate that is given. Ctrl-C ends it with a report. It exits with 1 if something grew after the
first quarter, was lost, or does not verify.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

import valkey

from bench.soak.clients import Clients
from bench.soak.faults import Faults
from bench.soak.samples import Samples, growth, look
from bench.soak.stage import WORKERS, Stage, open_stage
from holdfast.client import Client
from holdfast.engine import open_engine
from holdfast.testing.polling import wait_for

SHARE = 0.7
#: How long the capacity is measured, after a while in which processes warm up.
CAPACITY_S, WARM_UP_S = 15.0, 5.0
AT_ONCE = 200
#: How many samples at most, and the shortest time between two of them.
SAMPLES, SAMPLE_S = 160, 2.0
DRAIN_S = 300.0
START_S = 120.0
#: How long ended executions are kept, at least and at most: they must go before the second quarter.
RETENTION_S = (20.0, 60.0)


class Soak:
    """One run."""

    def __init__(self, options: argparse.Namespace, stage: Stage, clients: Clients) -> None:
        self._options = options
        self._stage = stage
        self._clients = clients
        self._samples = Samples()
        random = Random(options.seed)  # noqa: S311 - faults by a seed
        self._faults = Faults(stage, random, options.every)
        self.stop = asyncio.Event()

    async def run(self) -> dict[str, Any]:
        """Measure the capacity, soak, and report."""
        length = self._options.minutes * 60
        least, most = RETENTION_S
        await self._prepare(max(least, min(most, length / 12)))
        capacity = 0.0
        if not self._options.rate:
            await self._clients.capacity(WARM_UP_S, AT_ONCE)
            capacity = await self._clients.capacity(CAPACITY_S, AT_ONCE)
        rate = self._options.rate or SHARE * capacity
        print(f"offering {rate:.0f} executions a second for {length:.0f} s", file=sys.stderr)
        took = await self._soak(rate, length)
        quarters = self._samples.quarters(took)
        problems = [*growth(quarters), *self._clients.wrong, *self._stage.ended()]
        problems += filter(None, [await asyncio.to_thread(self._stage.verify)])
        return {
            "seconds": took,
            "capacity a second": capacity,
            "offered a second": rate,
            "executions": self._clients.done,
            "not offered": self._clients.skipped,
            "faults": dict(self._faults.count),
            "quarters": quarters,
            "problems": problems,
        }

    async def _prepare(self, kept_s: float) -> None:
        """Wait for all processes, and keep ended executions briefly."""
        async with open_engine(self._stage.store, maintenance=False) as engine:
            kept = dict.fromkeys(("completed", "failed", "cancelled"), int(kept_s * 1000))
            await engine.lanes.set_retention(kept)

            async def all_work() -> bool:
                return len(await engine.workers.list()) == WORKERS

            await wait_for(all_work, timeout_s=START_S)
        await self._clients.wait_ready(START_S)

    async def _soak(self, rate: float, length: float) -> float:
        """Run until the time is over or it is stopped; returns how long it took."""
        began = time.monotonic()
        faults = asyncio.ensure_future(self._faults.run())
        load = asyncio.ensure_future(self._clients.run(rate))
        try:
            while not self.stop.is_set() and time.monotonic() < began + length:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stop.wait(), max(SAMPLE_S, length / SAMPLES))
                for done in (faults, load):
                    if done.done():
                        done.result()
                self._look(time.monotonic() - began)
            took = time.monotonic() - began
        finally:
            for task in (faults, load):
                task.cancel()
            await asyncio.gather(faults, load, return_exceptions=True)
        await self._stage.ready()
        await self._clients.drain(DRAIN_S)
        return took

    def _look(self, at: float) -> None:
        took, self._clients.took = self._clients.took, []
        # The store may be down at this moment.
        with contextlib.suppress(valkey.ValkeyError, OSError):
            seen = look(self._stage, took)
            self._samples.add(at, seen)
            if self._options.verbose:
                print(f"{at:7.0f} s  {_line(seen)}", file=sys.stderr, flush=True)


def _line(seen: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:,.0f}" for name, value in seen.items())


def table(report: dict[str, Any]) -> str:
    """Return a report for people."""
    lines = [
        f"{name}: {value:,.0f}" if isinstance(value, float) else f"{name}: {value}"
        for name, value in report.items()
        if name not in ("quarters", "problems")
    ]
    lines.append(f"\n{'medians of quarters':<28}" + "".join(f"{n:>12}" for n in (1, 2, 3, 4)))
    for name, values in report["quarters"].items():
        lines.append(f"{name:<28}" + "".join(f"{value:>12,.1f}" for value in values))
    problems = report["problems"]
    lines += ["", *problems[:50], f"{len(problems)} problems" if problems else "nothing is wrong"]
    return "\n".join(lines)


async def soak(options: argparse.Namespace) -> dict[str, Any]:
    """Run a soak and return its report."""
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory(prefix="holdfast-soak-") as folder:
        async with contextlib.AsyncExitStack() as stack:
            stage = await stack.enter_async_context(open_stage(Path(folder)))
            servers = [await stack.enter_async_context(Client(url)) for url in stage.urls]
            random = Random(options.seed)  # noqa: S311 - a workload by a seed
            run = Soak(options, stage, Clients(servers, random))
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, run.stop.set)
            report = await run.run()
            if options.log:
                Path(options.log).write_bytes((Path(folder) / "log").read_bytes())
            return report


def main() -> None:
    """Soak and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--rate", type=float, default=0, help="executions a second; else measured")
    parser.add_argument("--every", type=float, default=5, help="seconds from fault to fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", help="where to keep what the processes logged")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--verbose", action="store_true", help="print every sample")
    options = parser.parse_args()
    report = asyncio.run(soak(options))
    print(json.dumps(report, indent=2) if options.json else table(report))
    sys.exit(bool(report["problems"]))


if __name__ == "__main__":
    main()

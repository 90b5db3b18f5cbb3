"""python -m bench.load: a table of what much of everything costs; all sizes are options."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable

from bench.load.flood import measure_flood
from bench.load.sessions import measure_sessions
from bench.load.suspended import measure_suspended
from bench.load.workers import measure_workers
from bench.report import Figures, machine, run, table
from holdfast.engine import Engine, open_engine

Part = Callable[[Engine, str, int], Awaitable[Figures]]

#: Parts by name: what is measured, and how many there are of it by default.
PARTS: dict[str, tuple[Part, int]] = {
    "workers": (measure_workers, 10_000),
    "suspended": (measure_suspended, 1_000_000),
    "sessions": (measure_sessions, 100_000),
}
FLOOD_S = 6


async def measure(sizes: dict[str, int], flood_s: float, fsync: str) -> dict[str, Figures]:
    """Measure each part that has a size on a store of its own, then the flood."""
    results: dict[str, Figures] = {}
    for name, (part, _) in PARTS.items():
        if not sizes[name]:
            continue
        folder = tempfile.mkdtemp(prefix="holdfast-bench-")
        store = f"embedded://{folder}?fsync={fsync}"
        try:
            async with open_engine(store, maintenance=False) as engine:
                results[f"{sizes[name]:,} {name}"] = await part(engine, store, sizes[name])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    if flood_s:
        results["a tenant that floods"] = await measure_flood(flood_s)
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    for name, (_, size) in PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"{size:,}; 0 skips it")
    parser.add_argument("--flood", type=float, default=FLOOD_S, help="seconds a round; 0 skips it")
    parser.add_argument("--fsync", default="always", choices=("always", "everysec", "no"))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    sizes = {name: getattr(options, name) for name in PARTS}

    async def go() -> None:
        results = await measure(sizes, options.flood, options.fsync)
        report = {"machine": machine(), "results": results}
        print(json.dumps(report, indent=2) if options.json else table(results))

    run(go())


if __name__ == "__main__":
    main()

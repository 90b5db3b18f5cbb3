"""`make property`: run the random tests again and again with fresh seeds, one line for each run."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.property.run_machine import MACHINES
from tests.property.running import LIMIT_S

#: By name: the module to run, with its arguments.
TESTS: dict[str, tuple[str, ...]] = {
    **{name: ("run_machine", name) for name in MACHINES},
    "graphs": ("graph_runs",),
    "conditions": ("run_conditions",),
    "leases": ("lease_machine",),
}
#: Where failed runs leave their output.
FAILURES = Path("build/property")


def run(name: str) -> bool:
    """Run a test once; returns whether it passed."""
    module, *args = TESTS[name]
    command = [sys.executable, "-m", f"tests.property.{module}", *args]
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        failure = done.stdout + done.stderr if done.returncode else ""
    except subprocess.TimeoutExpired:
        failure = f"no end after {LIMIT_S} s"
    took = f"{time.monotonic() - started:.0f} s"
    if not failure:
        print(f"{name}: passed in {took}", flush=True)
        return True
    place = FAILURES / f"{name}-{time.time():.0f}.txt"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(failure)
    print(f"{name}: FAILED after {took}, see {place}", flush=True)
    return False


def runs(name: str, minutes: float) -> Iterator[bool]:
    """Run a test until it has had its time."""
    until = time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        yield run(name)


def main() -> None:
    """Run what the command line says, and sum it up."""
    parser = argparse.ArgumentParser(prog="python -m tests.property", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TESTS)}")
    parser.add_argument("--minutes", type=float, default=5, help="for each test; 5 by default")
    parser.add_argument("--at-once", type=int, default=2, help="how many tests run side by side")
    given = parser.parse_args()
    if unknown := set(given.names) - set(TESTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    names = given.names or list(TESTS)
    with ThreadPoolExecutor(given.at_once) as threads:
        results = list(threads.map(lambda name: list(runs(name, given.minutes)), names))
    for name, passed in zip(names, results, strict=True):
        print(f"{name}: {len(passed)} runs, {passed.count(False)} failed")
    sys.exit(not all(map(all, results)))


if __name__ == "__main__":
    main()

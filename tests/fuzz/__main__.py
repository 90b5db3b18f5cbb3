"""Fuzz the parsers: `FUZZ=1000000 python -m tests.fuzz [SEED [TARGET]]`.

Prints a line for each target, and each failing input with its seed; ends with 1 if there is any.
"""

from __future__ import annotations

import logging
import os
import sys
import time

from tests.fuzz.running import run
from tests.fuzz.targets import targets


def main(seed: int, only: str | None) -> int:
    """Spread the inputs over the targets."""
    logging.disable()
    chosen = [target for target in targets() if only in {None, target.name}]
    each = max(1, int(os.environ.get("FUZZ", "20000")) // len(chosen))
    total = failures = 0
    for target in chosen:
        began = time.monotonic()
        found = run(target, each, seed)
        took = time.monotonic() - began
        total += found.inputs
        failures += len(found.failures)
        print(
            f"{target.name:24} {found.inputs:8} inputs, {found.refused:8} refused, "
            f"{found.kept:4} kept, {len(found.failures)} failures, {took:.1f} s",
            flush=True,
        )
        for failure in found.failures:
            print(f"  seed {seed}: {failure.problem}: {failure.data[:300]!r}")
    print(f"{total} inputs, {failures} failures, seed {seed}")
    return 1 if failures else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    given = int(arguments[0]) if arguments else time.time_ns() % 1_000_000
    sys.exit(main(given, arguments[1] if len(arguments) > 1 else None))

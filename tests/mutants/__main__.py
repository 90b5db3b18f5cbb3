"""Draw mutants, let the tests judge them, report.

One line for each mutant; the survivors are printed at the end, with their differences. A mutant is
judged by the tests near it until one fails. What survives them is judged by all tests of functions
that run the changed block, then by the property machines; --quick leaves both out. With --json, a
run continues where an earlier one stopped: numbers that the file has are not judged again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mutants import machines
from tests.mutants.drawing import Mutant, drawn, harmless
from tests.mutants.nearness import near
from tests.mutants.trials import Reach, Trials

#: Tests that call functions one by one.
TESTS = ("tests/lua",)


def main() -> None:
    """Collect the tests once, then judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--since", help="draw only from lines that differ from this commit")
    parser.add_argument("--only", type=int, nargs="*", help="judge these numbers only")
    parser.add_argument("--quick", action="store_true", help="only ask the tests near a mutant")
    parser.add_argument("--among", nargs="*", default=[], help="near tests besides, by their paths")
    parser.add_argument("--reach", type=Path, help="keep in a file which tests run what")
    parser.add_argument("--json", type=Path, help="keep the verdicts in a file, and add to it")
    parser.add_argument("--seconds", type=float, help="begin no mutant after this time")
    options = parser.parse_args()
    # Without captured output, because the report appears while tests run.
    arguments = ["-q", "-s", "-p", "no:cacheprovider", *TESTS]
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    sys.exit(pytest.main(arguments, plugins=[Trials(lambda trials: run(trials, options))]))


def run(trials: Trials, options: argparse.Namespace) -> None:
    """Judge every mutant that was drawn."""
    reach = None if options.quick else trials.reach(options.reach)
    unchanged = harmless()
    if not trials.survives(unchanged, trials.beginning(near(unchanged))):
        sys.exit("the tests fail without a change: no mutant can be judged")
    ends_at = time.monotonic() + (options.seconds or float("inf"))
    seen = _kept(options)
    done = {one["number"] for one in seen}
    for number, mutant in enumerate(drawn(options.count, options.seed, options.since)):
        if number in done or (options.only and number not in options.only):
            continue
        if time.monotonic() > ends_at:
            break
        seen.append(_judged(number, mutant, trials, reach, options.among))
        if options.json:
            options.json.write_text(json.dumps(seen, indent=2) + "\n")
    survivors = [one for one in seen if one["verdict"] == "survived"]
    for one in survivors:
        print(f"\n{one['number']} {one['kind']} {one['place']}\n{one['change']}")
    killed = len(seen) - len(survivors)
    print(f"\n{killed} of {len(seen)} killed ({killed / max(1, len(seen)):.1%})")


def _kept(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the verdicts of earlier runs, without those that are asked for again."""
    if not options.json or not options.json.exists():
        return []
    kept: list[dict[str, Any]] = json.loads(options.json.read_text())
    return [one for one in kept if one["number"] not in (options.only or ())]


def _judged(
    number: int, mutant: Mutant, trials: Trials, reach: Reach | None, among: list[str]
) -> dict[str, Any]:
    """Judge one mutant, and print its line."""
    started = time.monotonic()
    tests = trials.beginning([*near(mutant), *among])
    judges = f"{len(tests)} near"
    survived = trials.survives(mutant, tests)
    if survived and reach:
        others = [test for test in reach.of(mutant) if test not in tests]
        judges += f", {len(others)} others"
        survived = trials.survives(mutant, others)
        if survived:
            judges += ", machines"
            survived = machines.survives(mutant)
    verdict = "survived" if survived else "killed"
    print(
        f"{number:>4} {verdict:<8} {mutant.kind:<13} {mutant.place} "
        f"({judges}, {time.monotonic() - started:.0f} s)",
        flush=True,
    )
    return {
        "number": number,
        "verdict": verdict,
        "kind": mutant.kind,
        "place": mutant.place,
        "judges": judges,
        "change": mutant.difference(),
    }


if __name__ == "__main__":
    main()

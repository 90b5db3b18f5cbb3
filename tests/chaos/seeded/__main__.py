"""`make chaos`: run seeds, one line for each."""

from __future__ import annotations

import argparse
import asyncio
import logging
import secrets
import sys
import time
from math import inf
from pathlib import Path
from random import Random

from tests.chaos.seeded import schedule, seed
from tests.chaos.seeded.cluster import Cluster
from tests.chaos.seeded.topology import Pair, Single, Topology, open_topology
from tests.chaos.seeded.verdict import Verdict

TOPOLOGIES: dict[str, type[Topology]] = {kind.name: kind for kind in (Single, Pair, Cluster)}


async def run(topology: str, seeds: list[int], given: argparse.Namespace, until: float) -> int:
    """Run seeds on one topology, some at once; returns how many found something."""
    lanes = (seeds[n :: given.at_once] for n in range(given.at_once))
    return sum(await asyncio.gather(*(_run(topology, own, given, until) for own in lanes if own)))


async def _run(topology: str, seeds: list[int], given: argparse.Namespace, until: float) -> int:
    """Run seeds one after the other, on servers of their own; start none after a time."""
    found = 0
    left = list(seeds)
    while left and time.monotonic() < until:
        async with open_topology(TOPOLOGIES[topology], Random(left[0])) as servers:
            verdict: Verdict | None = None
            # Servers on which something did not end are not used again.
            while (
                left
                and time.monotonic() < until
                and not (verdict is not None and verdict.is_unfinished)
            ):
                verdict = await seed.run(schedule.draw(left.pop(0), topology, given.only), servers)
                found += verdict.is_wrong
                _report(verdict, given.folder)
    return found


def _report(verdict: Verdict, folder: Path) -> None:
    print(verdict, flush=True)
    if verdict.problems:
        place = verdict.keep(folder)
        for problem in verdict.problems[:10]:
            print(f"    {problem}")
        number, topology = verdict.schedule.seed, verdict.schedule.topology
        print(f"    kept in {place}; again: make chaos SEED={number} TOPOLOGY={topology}")


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=30, help="how many fresh seeds")
    parser.add_argument("--seed", type=int, help="one seed again")
    parser.add_argument("--from", dest="first", type=int, help="the first seed; random by default")
    parser.add_argument("--topology", choices=list(TOPOLOGIES), help="by default all")
    parser.add_argument("--only", action="append", default=[], help="a workload, by its name")
    parser.add_argument("--no-ack", action="store_true", help="see what replication loses")
    parser.add_argument("--at-once", type=int, default=1, help="how many seeds run side by side")
    parser.add_argument("--seconds", type=float, default=inf, help="after that, start no seed")
    parser.add_argument("--folder", type=Path, default=Path("chaos-failures"))
    given = parser.parse_args()
    logger = logging.getLogger("holdfast")
    # A failing seed keeps what was logged.
    logger.setLevel(logging.INFO)
    logger.propagate = False
    if given.no_ack:
        for kind in TOPOLOGIES.values():
            kind.ack = ""
    topologies = [given.topology] if given.topology else list(TOPOLOGIES)
    if given.seed is not None:
        shares = {name: [given.seed] for name in topologies}
    else:
        first = secrets.randbelow(1_000_000) if given.first is None else given.first
        every = range(first, first + given.seeds)
        shares = {name: list(every[n :: len(topologies)]) for n, name in enumerate(topologies)}
    found = 0
    for name, own in shares.items():
        until = time.monotonic() + given.seconds / len(topologies)
        found += asyncio.run(run(name, own, given, until))
    sys.exit(found > 0)


if __name__ == "__main__":
    main()

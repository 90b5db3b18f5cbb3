"""`make chaos`: run seeds, one line for each."""

from __future__ import annotations

import argparse
import asyncio
import logging
import secrets
import sys
from pathlib import Path
from random import Random

from tests.chaos.seeded import schedule, seed
from tests.chaos.seeded.cluster import Cluster
from tests.chaos.seeded.seed import Verdict
from tests.chaos.seeded.topology import Pair, Single, Topology, open_topology

TOPOLOGIES: dict[str, type[Topology]] = {kind.name: kind for kind in (Single, Pair, Cluster)}


async def run(topology: str, seeds: list[int], given: argparse.Namespace) -> int:
    """Run seeds on one topology, some at once; returns how many found something."""
    lanes = (seeds[n :: given.at_once] for n in range(given.at_once))
    return sum(await asyncio.gather(*(_run(topology, own, given) for own in lanes if own)))


async def _run(topology: str, seeds: list[int], given: argparse.Namespace) -> int:
    """Run seeds one after the other, on servers of their own."""
    found = 0
    async with open_topology(TOPOLOGIES[topology], Random(seeds[0])) as servers:
        for number in seeds:
            verdict = await seed.run(schedule.draw(number, topology, given.only), servers)
            found += bool(verdict.problems) and not verdict.is_starved
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
    found = sum(asyncio.run(run(name, own, given)) for name, own in shares.items() if own)
    sys.exit(found > 0)


if __name__ == "__main__":
    main()

"""python -m bench.peers: Holdfast beside other queues and engines, in one run on one Valkey.

One process submits no-op tasks with 100 bytes of input, then one worker process, started as its
users start it, runs them. Rounds alternate between the peers; the table shows medians, and a run
of all of them writes bench/results/peers.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from statistics import median
from typing import Any

from bench.peers.contest import Stalled, measure
from bench.peers.environments import NotInstalled, python_of, versions_of
from bench.peers.peer import PEERS, Peer
from bench.report import RESULTS, machine
from holdfast.testing.servers import start_server

Samples = dict[str, list[dict[str, float]]]


async def contest(peers: dict[Peer, Any], count: int, rounds: int) -> Samples:
    """Measure every peer in every round, each on an empty store."""
    samples: Samples = {peer.name: [] for peer in peers}
    with start_server("--appendonly", "yes") as valkey, valkey.raw() as client:
        for number in range(rounds):
            for peer, python in peers.items():
                client.flushall()
                client.config_set("appendfsync", peer.fsync)
                try:
                    result = await measure(peer, python, valkey, round_to_100(count, peer))
                except Stalled as error:
                    print(error, file=sys.stderr)
                    continue
                samples[peer.name].append(result.figures)
                shown = "  ".join(f"{name} {value:,.0f}" for name, value in result.figures.items())
                print(f"{number + 1}/{rounds}  {peer.name:<20} {shown}", file=sys.stderr)
    return samples


def round_to_100(count: int, peer: Peer) -> int:
    """Return how many tasks a peer runs: programs submit hundreds."""
    return max(100, round(count * peer.share / 100) * 100)


def medians(samples: Samples) -> dict[str, dict[str, float]]:
    """Return the median of each figure."""
    return {
        name: {figure: median(one[figure] for one in runs) for figure in runs[0]}
        for name, runs in samples.items()
        if runs
    }


def table(figures: dict[str, dict[str, float]], versions: dict[str, str]) -> str:
    """Format the medians, and Holdfast's rate as a multiple of each peer's."""
    ours = figures.get("Holdfast", {}).get("end to end /s", 0.0)
    heads = {"end to end/s": 13, "submit/s": 11, "drain/s": 10, "worker us": 11, "Valkey us": 11}
    head = "".join(f"{name:>{width}}" for name, width in heads.items())
    lines = [f"{'':<28}{head}{'Holdfast':>10}"]
    for name, one in figures.items():
        rate, submit, drain, worker, valkey = one.values()
        label = f"{name} {versions[name]}"
        lines.append(
            f"{label:<28}{rate:>13,.0f}{submit:>11,.0f}{drain:>10,.0f}"
            f"{worker:>11,.0f}{valkey:>11,.0f}{ours / rate:>9,.1f}x"
        )
    return "\n".join(lines)


def main() -> None:
    """Install what is missing, measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", metavar="PEER", help="those to measure; all if none")
    parser.add_argument("--count", type=int, default=10_000, help="tasks of a fast peer")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    known = {peer.name.lower(): peer for peer in PEERS}
    if unknown := [name for name in options.peers if name.lower() not in known]:
        parser.error(f"no such peer: {', '.join(unknown)}; there are: {', '.join(known)}")
    chosen = [known[name.lower()] for name in options.peers] or PEERS
    pythons: dict[Peer, Any] = {}
    versions: dict[str, str] = {}
    for peer in chosen:
        try:
            pythons[peer] = python_of(peer)
            versions[peer.name] = versions_of(peer, pythons[peer])
        except NotInstalled as error:
            print(f"{peer.name} is left out: {error}", file=sys.stderr)
    samples = asyncio.run(contest(pythons, options.count, options.rounds))
    figures = medians(samples)
    report = {
        "machine": {**machine(), "executions": options.count, "rounds": options.rounds},
        "versions": versions,
        "medians": figures,
        "samples": samples,
    }
    if not options.peers:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "peers.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report, indent=2) if options.json else table(figures, versions))


if __name__ == "__main__":
    main()

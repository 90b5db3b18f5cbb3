"""Example packs on a real host: their tests pass, also when workers die at every node."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.host.simulator.results import Outcome, Verdict, failure_lines
from holdfast.host.simulator.script import Test
from holdfast.testing.servers import TestServer
from tests.support.pack_hosts import open_host

pytestmark = pytest.mark.timeout(240)

PACKS = ("assistant", "support")


def _told(outcome: Outcome) -> list[str]:
    return [] if outcome.verdict is Verdict.PASSED else failure_lines(outcome)


@pytest.mark.parametrize("pack", PACKS)
async def test_a_worker_killed_at_any_node_changes_nothing_that_is_said(
    pack: str, tmp_path: Path, single_server: TestServer
) -> None:
    """The tests of the pack pass in a worker process, and again with a death at each node."""
    async with open_host(pack, tmp_path, single_server) as (simulator, world, tests):
        shortest: dict[str, tuple[int, Test]] = {}
        for test in tests:
            before = len(world.visited)
            assert _told(await simulator.play(world, test)) == []
            nodes = world.visited[before:]
            for node in nodes:
                best = shortest.setdefault(node, (len(nodes), test))
                shortest[node] = min(best, (len(nodes), test), key=lambda one: one[0])
        flows = simulator.pack.flows.flows.values()
        assert sorted(shortest) == sorted(f"{one.id}.{node}" for one in flows for node in one.nodes)
        for node, (_, test) in shortest.items():
            world.kill_at(node)
            assert _told(await simulator.play(world, test)) == [], f"killed at {node}"
        assert world.deaths == list(shortest)

"""Everything that faults can strike: servers, network, processes, the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.chaos.seeded.clock import StoreClock
from tests.chaos.seeded.processes import Kind, Process
from tests.chaos.seeded.topology import Topology


@dataclass
class World:
    """A running seed."""

    topology: Topology
    clock: StoreClock
    random: Random
    #: Starts a process like the one given, under a new name.
    replace: Callable[[Process], Process]
    processes: list[Process] = field(default_factory=list)
    dead: list[Process] = field(default_factory=list)
    #: What struck, with the time.
    log: list[str] = field(default_factory=list)

    def kill(self, process: Process) -> None:
        """End a process and start another one in its place."""
        process.kill()
        self.processes.remove(process)
        self.dead.append(process)
        self.processes.append(self.replace(process))

    def pick(self, kind: Kind) -> Process:
        """Return one of the processes of a kind."""
        return self.random.choice([p for p in self.processes if p.kind is kind])

    async def wait(self, least_s: float, most_s: float) -> None:
        """Let a fault last."""
        await asyncio.sleep(self.random.uniform(least_s, most_s))

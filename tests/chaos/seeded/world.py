"""Everything that faults can strike: servers, network, processes, the clock."""

from __future__ import annotations

import asyncio
import time
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
    #: The fault that has this view of the world.
    name: str = "world"

    def note(self, text: str) -> None:
        """Note what a fault does."""
        self.log.append(f"{time.monotonic():.3f} {self.name}: {text}")

    def kill(self, process: Process) -> None:
        """End a process and start another one in its place."""
        process.kill()
        self.processes.remove(process)
        self.dead.append(process)
        self.processes.append(self.replace(process))
        self.note(f"{process.user} is dead, {self.processes[-1].user} follows")

    def pick(self, kind: Kind) -> Process:
        """Return one of the processes of a kind."""
        process = self.random.choice([p for p in self.processes if p.kind is kind])
        self.note(f"chooses {process.user}")
        return process

    async def wait(self, least_s: float, most_s: float) -> None:
        """Let a fault last."""
        await asyncio.sleep(self.random.uniform(least_s, most_s))

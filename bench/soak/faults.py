"""Faults, one every few seconds."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from random import Random

from bench.soak.stage import MORTAL, STEADY, Stage


class Faults:
    """Strikes a stage until it is cancelled."""

    def __init__(self, stage: Stage, random: Random, every_s: float) -> None:
        self._stage = stage
        self._random = random
        self._every_s = every_s
        #: How often each struck.
        self.count: Counter[str] = Counter()

    async def run(self) -> None:
        """Strike again and again."""
        faults = {"kill": self._kill, "pause": self._pause, "restart Valkey": self._restart}
        while True:
            await asyncio.sleep(self._random.uniform(0.5, 1.5) * self._every_s)
            (name,) = self._random.choices(list(faults), [3, 3, 1])
            self.count[name] += 1
            await faults[name]()

    async def _kill(self) -> None:
        self._stage.kill(self._random.choice(MORTAL))

    async def _pause(self) -> None:
        """Stop a process, sometimes for longer than its leases."""
        name = self._random.choice((*MORTAL, *STEADY))
        self._stage.send(name, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._random.uniform(0.5, 5))
        finally:
            self._stage.send(name, signal.SIGCONT)

    async def _restart(self) -> None:
        await self._stage.restart_valkey()

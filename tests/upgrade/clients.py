"""Clients of one version: they do all that the chaos workload does, and judge what comes of it.

Both versions run this file, each with its own `holdfast` and its own `tests.chaos`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from holdfast import api
from holdfast.engine import Engine
from holdfast.errors import NotFound
from holdfast.store.store import StoreSettings
from tests.chaos.seeded.history import History, Ledger, Status
from tests.chaos.seeded.workload import WORKLOADS

#: The time can be set, so that a test need not wait; nothing else is unlike in production.
SETTINGS = StoreSettings(
    fake_clock=True, call_timeout_ms=30_000, boot_timeout_ms=30_000, codec=None
)
#: These need object storage, deployments of packs, or workers of one version alone.
_WITHOUT = ("archives", "flows", "leases", "replies", "splits")
#: These judge a thing as a whole, so only the clients of one process may use it.
_WHOLE = ("budgets", "queues", "schedules")
#: A client rests after each call, and longer on a machine that is busy: else work would pile up.
_PAUSE_S, _PAUSES = 0.05, 5


def queues() -> list[str]:
    """Return the queues that clients use."""
    return [queue for kind in WORKLOADS for queue in kind.queues]


class Clients:
    """Clients that keep what they asked and were answered."""

    def __init__(self, name: str, *, everything: bool) -> None:
        without = _WITHOUT if everything else _WITHOUT + _WHOLE
        self._name = name
        self._history, self._ledger = History(), Ledger()
        self._workloads = [
            kind(self._history, self._ledger, Random(name))
            for kind in WORKLOADS
            if kind.title() not in without
        ]
        self._started = 0
        self._acting: dict[str, tuple[asyncio.Event, asyncio.Future[Any]]] = {}

    @property
    def answered(self) -> int:
        """How many calls were answered."""
        return sum(call.is_ok for call in self._history.calls)

    async def prepare(self, engine: Engine) -> None:
        """Make what all clients need."""
        for workload in self._workloads:
            await workload.prepare(engine)

    def start(self, place: str, engine: api.Engine) -> None:
        """Let a client act on an engine, until `stop`."""
        stop = asyncio.Event()
        # Short, because the workload reads payloads that lie in records.
        self._started += 1
        client = f"{self._name}{self._started}"

        async def act() -> None:
            while not stop.is_set():
                for workload in self._workloads:
                    began = time.monotonic()
                    await workload.act(engine, client)
                    await asyncio.sleep(max(_PAUSE_S, _PAUSES * (time.monotonic() - began)))

        self._acting[place] = (stop, asyncio.ensure_future(act()))

    async def stop(self, place: str) -> None:
        """Let a client finish its call and rest; raises what ended it before."""
        stop, acting = self._acting.pop(place)
        stop.set()
        await acting

    async def finish(self, engine: Engine) -> None:
        """Do what clients still owe."""
        for workload in self._workloads:
            # What all clients share may have been ended by those of the other version.
            with contextlib.suppress(NotFound):
                await workload.finish(engine)

    def refusals(self) -> Counter[str]:
        """Return how many calls had no good answer, by the operation and the code of the error."""
        return Counter(
            f"{call.name}: {call.error}"
            for call in self._history.calls
            if call.status is not Status.OK
        )

    def replayed(self) -> list[str]:
        """Return the executions that clients wanted to be replayed."""
        return [call.key for call in self._history.of("replay")]

    async def problems(self, engine: Engine, dump: dict[str, Any], folder: Path) -> list[str]:
        """Return what is wrong, when all work has ended."""
        self._ledger.gather(folder)
        found = list(self._history.broken)
        for workload in self._workloads:
            label = f"{self._name}: {workload.title()}"
            found += [f"{label}: {text}" async for text in workload.check(engine, dump)]
        return found

"""A part of the workload: what its clients do, and what must hold in the end."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from random import Random
from typing import Any

from holdfast.api import Engine
from holdfast.engine import Engine as NearEngine
from tests.chaos.seeded.history import History, Ledger

#: All keys with their values.
Dump = dict[str, Any]
#: Part of every problem that follows from work that is still under way.
UNENDED = "has not ended"
ENDS = frozenset({b"completed", b"failed", b"cancelled", b"expired"})


def encode(value: Any) -> bytes:
    """Return JSON."""
    return json.dumps(value).encode()


class Workload(ABC):
    """A part of the workload."""

    #: The queues that it uses.
    queues: tuple[str, ...] = ()
    #: Whether hosts of packs must run.
    needs_hosts: bool = False

    def __init__(self, history: History, ledger: Ledger, random: Random) -> None:
        self.history = history
        self.ledger = ledger
        self.random = random
        self._number = 0

    @classmethod
    def title(cls) -> str:
        """Return its name."""
        return cls.__name__.lower()

    def new_key(self, client: str) -> str:
        """Return a name that nothing else has."""
        self._number += 1
        return f"{self.title()}-{client}-{self._number}"

    async def prepare(self, engine: NearEngine) -> None:
        """Make what clients need, before there are faults."""
        del engine

    @abstractmethod
    async def act(self, engine: Engine, client: str) -> None:
        """Do one thing as a client."""

    async def run(self, engine: Engine, client: str, stop: asyncio.Event) -> None:
        """Do one thing after another until `stop` is set."""
        while not stop.is_set():
            await self.act(engine, client)
            await asyncio.sleep(self.random.uniform(0.002, 0.03))

    async def finish(self, engine: NearEngine) -> None:
        """Do what clients still owe, once there are no more faults."""
        del engine

    async def left(self, engine: NearEngine) -> int:
        """Return how much has not ended beside executions."""
        del engine
        return 0

    @abstractmethod
    def check(self, engine: NearEngine, dump: Dump) -> AsyncIterator[str]:
        """Yield what is wrong, when all work has ended."""


def completed(record: dict[bytes, bytes] | None) -> str | None:
    """Return what is wrong with an execution that must have completed."""
    if record is None:
        return "is lost"
    state = record[b"state"]
    if state == b"completed":
        return None
    return f"is {state.decode()}" if state in ENDS else f"{UNENDED}: it is {state.decode()}"


def records(dump: Dump) -> dict[str, dict[bytes, bytes]]:
    """Return the records of executions by id."""
    return {key.split("}:x:", 1)[1]: value for key, value in dump.items() if "}:x:" in key}

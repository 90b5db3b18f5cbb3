"""Clients: they submit at a rate, and remember what was acknowledged until they have its result."""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from random import Random

from holdfast.client import Client
from holdfast.errors import (
    AlreadyTerminal,
    ExecutionFailed,
    ExecutionNotFound,
    HoldfastError,
    ResultNotReady,
)
from holdfast.testing.polling import wait_for

#: The kinds of work, and how often each comes.
KINDS = {"work": 6, "nap": 2, "asks": 2}
#: Submissions that wait for their results at a time; further ones are not offered.
MOST_OPEN = 2_000
_RESULTS = {"work": "3", "nap": "3", "asks": "yes"}
_PAUSE_S = 0.2
_WAIT_S = 20


class Clients:
    """Callers of both servers."""

    def __init__(self, servers: list[Client], random: Random) -> None:
        self._servers = servers
        self._random = random
        self._number = 0
        #: Ids of acknowledged executions without a result, with the time.
        self.open: dict[str, float] = {}
        self.done = 0
        self.skipped = 0
        #: What must never be.
        self.wrong: list[str] = []
        #: Seconds from submission to result since the last look.
        self.took: list[float] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def wait_ready(self, seconds: float) -> None:
        """Wait until every server answers."""

        async def answers(server: Client) -> bool:
            with contextlib.suppress(HoldfastError):
                await server.count()
                return True
            return False

        for server in self._servers:
            await wait_for(partial(answers, server), timeout_s=seconds)

    async def capacity(self, seconds: float, at_once: int) -> float:
        """Return how many a second end if there are always some open."""
        ends_at = time.monotonic() + seconds

        async def go_on() -> None:
            while time.monotonic() < ends_at:
                await self._one()

        before = self.done
        await asyncio.gather(*(go_on() for _ in range(at_once)))
        return (self.done - before) / seconds

    async def run(self, rate: float) -> None:
        """Submit at a rate until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due += 1 / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            if len(self._tasks) >= MOST_OPEN:
                self.skipped += 1
                continue
            task = asyncio.ensure_future(self._one())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def drain(self, seconds: float) -> None:
        """Wait for the results of what is open."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        now = time.monotonic()
        self.wrong += (
            f"{execution} has no result after {now - since:.0f} s"
            for execution, since in self.open.items()
        )

    async def _one(self) -> None:
        """Submit an execution and wait for its result, whatever fails in between."""
        self._number += 1
        (kind,) = self._random.choices(list(KINDS), list(KINDS.values()))
        execution = f"soak-{self._number:09}"
        began = time.monotonic()
        while True:
            with contextlib.suppress(HoldfastError):
                await self._server().submit(kind, id=execution, input=b"{}")
                break
            await asyncio.sleep(_PAUSE_S)
        self.open[execution] = began
        if kind == "asks":
            await self._answer(execution)
        result = await self._result(execution)
        if result is None:
            return
        self.done += 1
        del self.open[execution]
        self.took.append(time.monotonic() - began)
        if result != f'"{execution} {_RESULTS[kind]}"'.encode():
            self.wrong.append(f"{execution} has another result: {result!r}")

    async def _answer(self, execution: str) -> None:
        while True:
            try:
                await self._server().signal(execution, "answer", b'"yes"', idempotency_key="a")
            except (AlreadyTerminal, ExecutionNotFound):
                # An answer that seemed to fail had arrived.
                return
            except HoldfastError:
                await asyncio.sleep(_PAUSE_S)
            else:
                return

    async def _result(self, execution: str) -> bytes | None:
        while True:
            try:
                return await self._server().result(execution, timeout_s=_WAIT_S)
            except ResultNotReady:
                continue
            except ExecutionFailed as error:
                self.wrong.append(f"{execution} failed: {error}")
                del self.open[execution]
                return None
            except ExecutionNotFound:
                self.wrong.append(f"{execution} was acknowledged and is lost")
                del self.open[execution]
                return None
            except HoldfastError:
                await asyncio.sleep(_PAUSE_S)

    def _server(self) -> Client:
        return self._random.choice(self._servers)

"""Waits for executions to end: the store notifies the waiter, which also polls slowly."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from holdfast.engine.payloads import Payloads
from holdfast.engine.waiters import Waiters, news_or_poll
from holdfast.errors import ResultNotReady
from holdfast.model.executions import Outcome
from holdfast.store.store import Store

POLL_S = 5.0

T = TypeVar("T")


class Endings(ABC, Generic[T]):
    """The endings of executions or graphs, for all waiters of a process."""

    #: What ends: an execution or a graph.
    noun: str

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mailboxes = Waiters(store)

    async def close(self) -> None:
        """Stop listening."""
        await self._mailboxes.close()

    async def outcome(self, execution_id: str) -> T | None:
        """Return how it ended, or None if it has not."""
        return await self._look(execution_id, process="")

    async def wait(self, execution_id: str, timeout_s: float | None) -> T:
        """Wait for the end; raises ResultNotReady after the timeout."""
        # A process that listens already asks and registers in one call, unless its time may be over
        # before that is answered.
        if timeout_s is not None or not self._mailboxes.listens_for(execution_id):
            outcome = await self.outcome(execution_id)
            if outcome is not None:
                return outcome
        process = self._mailboxes.process
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._mailboxes.waiter(execution_id) as ended,
            ):
                while True:
                    outcome = await self._look(execution_id, process=process)
                    if outcome is not None:
                        return outcome
                    await news_or_poll(ended, POLL_S)
        except TimeoutError:
            message = f"{self.noun} {execution_id} did not end within {timeout_s} s"
            raise ResultNotReady(message, id=execution_id) from None

    @abstractmethod
    async def _look(self, execution_id: str, *, process: str) -> T | None:
        """Ask the store; if it has not ended, the store notifies `process` when it does."""


class Results(Endings[Outcome]):
    """Outcomes of executions."""

    noun = "execution"

    def __init__(self, store: Store, payloads: Payloads) -> None:
        super().__init__(store)
        self._payloads = payloads

    async def _look(self, execution_id: str, *, process: str) -> Outcome | None:
        return await self._payloads.outcome(execution_id, process=process)

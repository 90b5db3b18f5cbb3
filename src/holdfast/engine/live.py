"""Live contact with running executions: signals to their code, and the views that they set."""

from __future__ import annotations

import asyncio

from holdfast.engine.waiters import Waiters, news_or_poll
from holdfast.model.inboxes import Receipt, decode_received
from holdfast.model.views import View
from holdfast.model.waitpoints import Signal
from holdfast.store.store import Store

POLL_S = 5.0


class Live:
    """Receives signals and reads views, for all waiters of a process."""

    def __init__(self, store: Store) -> None:
        self._inboxes = store.inboxes
        self._views = store.views
        self._waiters = Waiters(store)

    async def close(self) -> None:
        """Stop listening."""
        await self._waiters.close()

    async def receive(self, receipt: Receipt, timeout_s: float) -> Signal | None:
        """Receive the next signal as a step; None if none comes in time."""
        found = await self._take(receipt, process="")
        if found is not None or timeout_s <= 0:
            return found
        try:
            patience = asyncio.timeout(timeout_s)
            async with patience, self._waiters.waiter(receipt.execution_id) as news:
                while True:
                    found = await self._take(receipt, process=self._waiters.process)
                    if found is not None:
                        return found
                    await news_or_poll(news, POLL_S)
        except TimeoutError:
            return None

    async def _take(self, receipt: Receipt, *, process: str) -> Signal | None:
        execution_id, lease = receipt.execution_id, receipt.lease
        while True:
            unread = await self._inboxes.peek(execution_id, lease, receipt.names, process=process)
            if unread is None:
                return None
            recorded = await self._inboxes.take(execution_id, lease, receipt.step, unread)
            if recorded is not None:
                return decode_received(recorded)

    async def wait(self, receipt: Receipt, until_ms: int | None) -> Signal | None:
        """Receive the next signal as a step, or return the lease until one comes."""
        execution_id, lease = receipt.execution_id, receipt.lease
        while True:
            unread = await self._inboxes.wait(execution_id, lease, receipt.names, until_ms)
            if unread is None:
                return None
            recorded = await self._inboxes.take(execution_id, lease, receipt.step, unread)
            if recorded is not None:
                return decode_received(recorded)

    async def view(self, execution_id: str, after: int, timeout_s: float) -> View:
        """Return the view; wait for a newer one, or for the end of the execution."""
        found = await self._views.read(execution_id, after)
        if timeout_s <= 0 or found.version > after or found.state.is_terminal:
            return found
        try:
            async with asyncio.timeout(timeout_s), self._waiters.waiter(execution_id) as news:
                while True:
                    found = await self._views.read(
                        execution_id, after, process=self._waiters.process
                    )
                    if found.version > after or found.state.is_terminal:
                        return found
                    await news_or_poll(news, POLL_S)
        except TimeoutError:
            return found

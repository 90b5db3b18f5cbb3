"""Follows the history and the state of an execution live; all followers share one connection."""

from __future__ import annotations

from collections.abc import AsyncIterator

from typing_extensions import override

from holdfast import api
from holdfast.engine.waiters import Waiters, news_or_poll
from holdfast.model import checks
from holdfast.model.executions import Event
from holdfast.model.feeds import Change
from holdfast.model.moments import to_ms
from holdfast.store.store import Store

POLL_S = 5.0


class Changes(api.Changes):
    """The followers of executions in a process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mailboxes = Waiters(store)

    async def close(self) -> None:
        """Stop listening."""
        await self._mailboxes.close()

    @override
    async def follow(self, execution_id: str, after: str | None = None) -> AsyncIterator[Change]:
        checks.execution_id("id", execution_id)
        process = self._mailboxes.process
        async with self._mailboxes.waiter(execution_id) as moved:
            seen, last_state = after, None
            while True:
                state, history = await self._store.feeds.follow(execution_id, process)
                for position, event in _since(history, seen):
                    seen, last_state = position, state
                    yield Change(state, event, position)
                if state is not last_state:
                    last_state = state
                    yield Change(state, None, None)
                if state.is_terminal:
                    return
                await news_or_poll(moved, POLL_S)


def _since(history: list[Event], seen: str | None) -> list[tuple[str, Event]]:
    """Return events after a position, each with its own: its time and its number in that ms."""
    numbered: list[tuple[str, Event]] = []
    last, number = -1, 0
    for event in history:
        ms = to_ms(event.at)
        number = number + 1 if ms == last else 0
        last = ms
        numbered.append((f"{ms}-{number}", event))
    return [entry for entry in numbered if seen is None or _order(entry[0]) > _order(seen)]


def _order(position: str) -> tuple[int, int]:
    ms, _, number = position.partition("-")
    if not (ms.isdecimal() and number.isdecimal()):
        checks.refuse("position", "must be a cursor that this call returned", position)
    return int(ms), int(number)

"""Following one execution: its history and its state, live, many followers on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from holdfast.model import checks
from holdfast.model.executions import Event
from holdfast.model.ids import new_id
from holdfast.model.moments import to_ms
from holdfast.model.states import State
from holdfast.store import keys
from holdfast.store.store import Store

POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class Change:
    """News of an execution."""

    state: State
    #: What happened; None: the state changed by itself, as when a delay ends.
    event: Event | None
    #: Where to go on after this one; None: it needs not be remembered.
    position: str | None


class Changes:
    """Followers of executions of a process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._process = new_id()
        self._mailboxes: dict[str, asyncio.Future[None]] = {}
        self._followers: dict[str, set[asyncio.Event]] = {}

    async def close(self) -> None:
        """Stop listening."""
        await asyncio.gather(*self._mailboxes.values(), return_exceptions=True)
        await self._store.subscriptions.remove(self._mailboxes, self._on_message)
        self._mailboxes.clear()

    async def follow(self, execution_id: str, after: str | None = None) -> AsyncIterator[Change]:
        """Yield what happened so far, or since a position, then what happens, until its end."""
        checks.execution_id("id", execution_id)
        moved = asyncio.Event()
        followers = self._followers.setdefault(execution_id, set())
        followers.add(moved)
        try:
            await self._open_mailbox(self._store.tag_of(execution_id))
            seen, told = after, None
            while True:
                moved.clear()
                state, history = await self._store.feeds.follow(execution_id, self._process)
                for position, event in _since(history, seen):
                    seen = position
                    yield Change(state, event, position)
                    told = state
                if state is not told:
                    told = state
                    yield Change(state, None, None)
                if state.is_terminal:
                    return
                await _wait(moved)
        finally:
            followers.discard(moved)
            if not followers:
                self._followers.pop(execution_id, None)

    async def _open_mailbox(self, tag: str) -> None:
        """Listen on the mailbox of a partition, once for all followers."""
        channel = keys.mailbox_channel(tag, self._process)
        if channel not in self._mailboxes:
            opening = self._store.subscriptions.add([channel], self._on_message)
            self._mailboxes[channel] = asyncio.ensure_future(opening)
        await asyncio.shield(self._mailboxes[channel])

    def _on_message(self, _channel: str, message: str) -> None:
        _, _, execution_id = message.partition(" ")
        for moved in self._followers.get(execution_id, ()):
            moved.set()


def _since(history: list[Event], seen: str | None) -> list[tuple[str, Event]]:
    """Return events after a position, each with its own: its time, and its number in that ms."""
    numbered: list[tuple[str, Event]] = []
    last, number = -1, 0
    for event in history:
        ms = to_ms(event.at)
        number = number + 1 if ms == last else 0
        last = ms
        numbered.append((f"{ms}-{number}", event))
    return [one for one in numbered if seen is None or _order(one[0]) > _order(seen)]


def _order(position: str) -> tuple[int, int]:
    ms, _, number = position.partition("-")
    if not (ms.isdecimal() and number.isdecimal()):
        checks.refuse("position", "is not one that was given", position)
    return int(ms), int(number)


async def _wait(moved: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(POLL_S):
            await moved.wait()
    except TimeoutError:
        pass

"""Event feeds: every change of state of a tenant's executions, in one order, live.

Each partition has a part of a feed. Entries are merged by time, and an entry is returned only when
no partition can still write an earlier one. So the order is total, and a position in it is enough
to continue without loss or repetition.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import final

from typing_extensions import override

from holdfast import api
from holdfast.concurrency import stop, wait_or_timeout
from holdfast.errors import HoldfastError
from holdfast.model import checks
from holdfast.model.feeds import Gap, Position, StateChange
from holdfast.store import channels
from holdfast.store.store import Store

#: A feed is kept for five minutes after the last renewal.
RENEW_S = 60.0
POLL_S = 2.0
#: Entries of the same moment are returned together.
_GATHER_S = 0.005
_ENTRIES = 500


@final
class Feeds(api.Feeds):
    """The event feeds of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @override
    async def follow(
        self, tenant: str, after: str | None = None
    ) -> AsyncIterator[StateChange | Gap | None]:
        checks.name("tenant", tenant)
        resumed = None if after is None else Position.parse(after)
        tags = list(self._store.tags())
        woken = asyncio.Event()
        heard = [channels.feed(tag, tenant) for tag in tags]

        def wake(_channel: str, _message: str) -> None:
            woken.set()

        await self._store.subscriptions.add(heard, wake)
        renewing: asyncio.Task[None] | None = None
        try:
            position, lost = await self._start(tags, tenant, resumed)
            renewing = asyncio.ensure_future(self._renew(tags, tenant))
            if lost:
                yield Gap()
            yield None
            while True:
                woken.clear()
                changes, more = await self._read(tags, tenant, position)
                for change in changes:
                    position = change.position
                    yield change
                if not more:
                    await wait_or_timeout(woken, POLL_S)
                await asyncio.sleep(_GATHER_S)
        finally:
            if renewing is not None:
                await stop(renewing)
            await self._store.subscriptions.remove(heard, wake)

    async def _start(
        self, tags: list[str], tenant: str, resumed: Position | None
    ) -> tuple[Position, bool]:
        """Switch the feed on; returns where to start, and whether earlier entries are gone."""
        replies = await asyncio.gather(*(self._store.feeds.listen(tag, tenant) for tag in tags))
        newest = max((Position(last.ms, n, last.number) for n, (_, last, _) in enumerate(replies)))
        if resumed is None:
            return newest, False
        if not all(kept for kept, _, _ in replies):
            return newest, True
        gone = max(first.ms for _, _, first in replies)
        return resumed, resumed.ms < gone

    async def _read(
        self, tags: list[str], tenant: str, position: Position
    ) -> tuple[list[StateChange], bool]:
        """Return the final entries after a position, and whether more are available now."""
        pages = await asyncio.gather(
            *(
                self._store.feeds.read(tag, tenant, position.start_in(n), _ENTRIES)
                for n, tag in enumerate(tags)
            )
        )
        changes = sorted(
            (change for _, page in pages for change in page), key=lambda change: change.position
        )
        if len(tags) == 1:
            return changes, len(changes) == _ENTRIES
        # A partition may still write entries of this millisecond, and returns a limited number.
        horizon = min(page[-1].position.ms if len(page) == _ENTRIES else now for now, page in pages)
        final = [change for change in changes if change.position.ms < horizon]
        return final, len(final) < len(changes)

    async def _renew(self, tags: list[str], tenant: str) -> None:
        """Keep the feed while there are listeners."""
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await asyncio.gather(*(self._store.feeds.listen(tag, tenant) for tag in tags))
            except HoldfastError:
                # The next renewal is early enough: a feed is kept for longer.
                continue

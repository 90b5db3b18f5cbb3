"""Event feeds: every change of a tenant's executions and other nouns, in one order, live.

Each partition has a part of a feed, and another part for nouns other than executions. Entries are
merged by time, and an entry is returned only when no part can still get an earlier one. So the
order is total, and a position in it is enough to continue without loss or repetition.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Sequence
from typing import final

from typing_extensions import override

from holdfast import api
from holdfast.concurrency import stop, wait_or_timeout
from holdfast.engine.queue_samples import QueueSamples
from holdfast.errors import HoldfastError
from holdfast.model import checks
from holdfast.model.feeds import Gap, Noun, NounChange, Position, StateChange, nouns
from holdfast.queues import Queues
from holdfast.store import channels
from holdfast.store.feeds import Source
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

    def __init__(self, store: Store, queues: Queues) -> None:
        self._store = store
        self._feeds = store.feeds
        self._samples = QueueSamples(store, queues)

    @override
    async def follow(
        self,
        tenant: str,
        after: str | None = None,
        types: Collection[str] = (Noun.EXECUTION,),
    ) -> AsyncIterator[StateChange | NounChange | Gap | None]:
        checks.name("tenant", tenant)
        wanted = nouns(types)
        resumed = None if after is None else Position.parse(after)
        sources = self._feeds.sources(tenant, wanted)
        woken = asyncio.Event()
        heard = [channels.feed(source.tag, source.name) for source in sources]

        def wake(_channel: str, _message: str) -> None:
            woken.set()

        await self._store.subscriptions.add(heard, wake)
        renewing: asyncio.Task[None] | None = None
        try:
            position, lost = await self._start(sources, resumed)
            renewing = asyncio.ensure_future(self._renew(sources))
            async with self._sampling(tenant, wanted):
                if lost:
                    yield Gap()
                yield None
                while True:
                    woken.clear()
                    changes, more = await self._read(sources, position)
                    for change in changes:
                        position = change.position
                        if isinstance(change, StateChange) or change.type in wanted:
                            yield change
                    if not more:
                        await wait_or_timeout(woken, POLL_S)
                    await asyncio.sleep(_GATHER_S)
        finally:
            if renewing is not None:
                await stop(renewing)
            await self._store.subscriptions.remove(heard, wake)

    def _sampling(
        self, tenant: str, wanted: Collection[Noun]
    ) -> contextlib.AbstractAsyncContextManager[None]:
        """Note changes of queues, if they are wanted."""
        if Noun.QUEUE not in wanted:
            return contextlib.nullcontext()
        return self._samples.taken(tenant)

    async def _listen(self, sources: Sequence[Source]) -> Sequence[tuple[bool, Position, Position]]:
        listening = (self._feeds.listen(source.tag, source.name) for source in sources)
        return await asyncio.gather(*listening)

    async def _start(
        self, sources: Sequence[Source], resumed: Position | None
    ) -> tuple[Position, bool]:
        """Switch the feed on; returns where to start, and whether earlier entries are gone."""
        replies = await self._listen(sources)
        lasts = [last for _, last, _ in replies]
        newest = max(
            Position(last.ms, source.number, last.number)
            for source, last in zip(sources, lasts, strict=True)
        )
        if resumed is None:
            return newest, False
        if not all(kept for kept, _, _ in replies):
            return newest, True
        gone = max(first.ms for _, _, first in replies)
        return resumed, resumed.ms < gone

    async def _read(
        self, sources: Sequence[Source], position: Position
    ) -> tuple[list[StateChange | NounChange], bool]:
        """Return the final entries after a position, and whether more are available now."""
        pages = await asyncio.gather(
            *(
                self._feeds.part(source, position.start_in(source.number), _ENTRIES)
                for source in sources
            )
        )
        changes = sorted(
            (change for _, page in pages for change in page), key=lambda change: change.position
        )
        if len(sources) == 1:
            return changes, len(changes) == _ENTRIES
        # A partition may still write entries of this millisecond, and returns a limited number.
        horizon = min(page[-1].position.ms if len(page) == _ENTRIES else now for now, page in pages)
        final = [change for change in changes if change.position.ms < horizon]
        return final, len(final) < len(changes)

    async def _renew(self, sources: Sequence[Source]) -> None:
        """Keep the feed while there are listeners."""
        while True:
            await asyncio.sleep(RENEW_S)
            try:
                await asyncio.gather(
                    *(self._feeds.listen(source.tag, source.name) for source in sources)
                )
            except HoldfastError:
                # The next renewal is early enough: a feed is kept for longer.
                continue

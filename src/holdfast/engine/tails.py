"""Tails: streams read live. Thousands share one subscription; each tenant has a maximum."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.engine.followed_stream import FollowedStream
from holdfast.engine.mailbox import Mailbox
from holdfast.errors import TooManyTails
from holdfast.model.frames import RETRY, RETRY_AFTER_MS, Frame
from holdfast.store.store import Store

#: Tails of a tenant in one process, unless a setting says otherwise.
TAILS_PER_TENANT = 100
#: Tails of all tenants in one process.
MOST_TAILS = 10_000

#: Notifications may be lost, so every stream is polled this often.
POLL_S = 5.0
_SETTINGS_S = 5.0


class Tail(api.Tail):
    """One live reader of a stream: `async for frame in tail`, until the `end` frame.

    A reader that must make room, or whose process stops, gets a last frame `retry` instead; it
    can continue in another process after the last frame that it received.
    """

    def __init__(self, tails: Tails, feed: FollowedStream, after: int) -> None:
        self._tails = tails
        self._feed = feed
        self._position = after
        self._stopped = False
        self._news = asyncio.Event()
        feed.listeners.add(self._news)
        #: It has returned its last frame, or was closed.
        self.done: bool = False

    @property
    def tenant(self) -> str:
        """The tenant of the execution."""
        return self._feed.tenant

    @override
    async def next(self, wait_s: float | None = None) -> Sequence[Frame]:
        if self.done:
            return ()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                return await self._next()
        return ()

    async def _next(self) -> Sequence[Frame]:
        feed = self._feed
        while True:
            self._news.clear()
            frames, self._position = await feed.after(self._position)
            if frames:
                return frames
            if feed.error is not None:
                self.close()
                raise feed.error
            if feed.end is not None or self._stopped:
                self.close()
                return [feed.end or _retry(self._position)]
            await self._news.wait()

    def stop(self) -> None:
        """End it with a `retry` frame."""
        self._stopped = True
        self._news.set()

    @override
    def close(self) -> None:
        if not self.done:
            self.done = True
            self._feed.listeners.discard(self._news)
            self._tails.release(self, self._feed)


class Tails:
    """The tails of a process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mailbox = Mailbox(store, self._on_message)
        self._feeds: dict[str, FollowedStream] = {}
        self._opening: dict[str, asyncio.Future[None]] = {}
        #: By tenant, the oldest first.
        self._open: dict[str, dict[Tail, None]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._settings: dict[str, str] = {}
        self._settings_until = 0.0
        self._draining = False
        #: How many tails this process serves at once.
        self.most: int = MOST_TAILS

    async def open(self, execution_id: str, after: int) -> Tail:
        """Start to read a stream live, after a frame.

        Raises:
            ExecutionNotFound: no execution has this id.
            TooManyTails: the tenant has its maximum number of tails.
        """
        feed = await self._feed(execution_id, after)
        feed.users += 1
        try:
            await self._admit(feed.tenant)
        except BaseException:
            self._leave(feed)
            raise
        tail = Tail(self, feed, after)
        self._open.setdefault(feed.tenant, {})[tail] = None
        return tail

    async def _feed(self, execution_id: str, after: int) -> FollowedStream:
        """Return the followed stream of an execution, started if it has no reader yet."""
        await self._mailbox.open(self._store.tag_of(execution_id))
        while execution_id in self._opening:
            # This lets other tasks run even if the stream has just opened; awaiting it would not.
            await asyncio.wait([self._opening[execution_id]])
        feed = self._feeds.get(execution_id)
        if feed is not None and feed.error is None and feed.end is None:
            return feed
        feed = FollowedStream(self._store, self._mailbox.process, execution_id)
        # In place before it starts, so that no notification in between is missed.
        self._feeds[execution_id] = feed
        opening = self._opening[execution_id] = asyncio.ensure_future(feed.start(after))
        try:
            await asyncio.shield(opening)
        except BaseException:
            self._drop(feed)
            raise
        finally:
            del self._opening[execution_id]
        if self._polling is None or self._polling.done():
            self._polling = asyncio.get_running_loop().create_task(self._poll())
        return feed

    async def _admit(self, tenant: str) -> None:
        limit = await self._limit(tenant)
        count = len(self._open.get(tenant, ()))
        if self._draining:
            raise _refusal(
                "this process is shutting down: read the stream from another process", tenant
            )
        if count >= limit:
            raise _refusal(
                f"tenant {tenant} already reads {count} streams live, which is its limit", tenant
            )
        if sum(map(len, self._open.values())) >= self.most:
            greedy = max(self._open.values(), key=len)
            if len(greedy) <= count + 1:
                raise _refusal(
                    f"this process already serves {self.most} live streams, which is its limit",
                    tenant,
                )
            # The tenant with the most tails makes room: its oldest reader continues elsewhere.
            oldest = next(iter(greedy))
            oldest.stop()
            del greedy[oldest]

    async def _limit(self, tenant: str) -> int:
        now = asyncio.get_running_loop().time()
        if now >= self._settings_until:
            self._settings_until = now + _SETTINGS_S
            self._settings = await self._store.lanes.settings()
        found = self._settings.get(f"tails|{tenant}") or self._settings.get("tails|*")
        return TAILS_PER_TENANT if found is None else int(found)

    def forget_settings(self) -> None:
        """Read the settings again before the next tail starts."""
        self._settings_until = 0.0

    def counts(self) -> dict[str, int]:
        """Return how many tails each tenant has in this process."""
        return {tenant: len(tails) for tenant, tails in self._open.items()}

    def release(self, tail: Tail, feed: FollowedStream) -> None:
        """Remove a tail that has ended."""
        tails = self._open.get(feed.tenant, {})
        tails.pop(tail, None)
        if not tails:
            self._open.pop(feed.tenant, None)
        self._leave(feed)

    def _leave(self, feed: FollowedStream) -> None:
        feed.users -= 1
        if feed.users == 0:
            self._drop(feed)

    def _drop(self, feed: FollowedStream) -> None:
        feed.stop()
        if self._feeds.get(feed.execution_id) is feed:
            del self._feeds[feed.execution_id]

    def _on_message(self, message: str) -> None:
        _, _, execution_id = message.partition(" ")
        feed = self._feeds.get(execution_id)
        if feed is not None:
            feed.nudge()

    async def _poll(self) -> None:
        """Poll every stream now and then, spread over time, while there are any."""
        while self._feeds:
            for feed in tuple(self._feeds.values()):
                await asyncio.sleep(POLL_S / max(1, len(self._feeds)))
                feed.nudge()

    def drain(self) -> None:
        """End all tails with a `retry` frame, and start no new ones."""
        self._draining = True
        for tails in tuple(self._open.values()):
            for tail in tuple(tails):
                tail.stop()

    async def close(self) -> None:
        """Drain, then stop listening."""
        self.drain()
        if self._polling is not None:
            self._polling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._polling
        for feed in self._feeds.values():
            feed.stop()
        await self._mailbox.close()


def _retry(position: int) -> Frame:
    hint = msgspec.json.encode({"after_ms": RETRY_AFTER_MS})
    return Frame(
        id=position, attempt=0, type=RETRY, payload=hint, encoding=None, at=datetime.now(UTC)
    )


def _refusal(message: str, tenant: str) -> TooManyTails:
    return TooManyTails(message, tenant=tenant, retry_after_ms=RETRY_AFTER_MS)

"""The only user of the client library: connections, batched calls, subscriptions.

Calls made in the same tick of the event loop are sent as one batch, which costs the client a
quarter of the CPU of single calls. While several batches are under way, further calls wait and
form the next batch.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

import glide

from holdfast.concurrency import stop
from holdfast.errors import StoreIncompatible, StoreUnavailable
from holdfast.store.valkey.replies import read_replies_here
from holdfast.store.valkey.urls import StoreUrl

log: logging.Logger = logging.getLogger(__name__)

#: Words with which a server refuses a user.
REFUSED_LOGIN = ("NOAUTH", "WRONGPASS", "NOPERM", "AuthenticationFailed", "authentication failed")

Command = Sequence[str | bytes]
Pending = tuple[Command, asyncio.Future[Any]]

#: More batches under way would use memory without adding speed: the server has one thread.
MOST_BATCHES = 4
MOST_CALLS_IN_BATCH = 256
MOST_BYTES_IN_BATCH = 4 << 20

#: How long a single try may hang. The library's own default, 250 ms, is too short for a failover.
TRY_TIMEOUT_MS = 5_000
SUBSCRIBE_TIMEOUT_MS = 5_000
_PROBE_EVERY_S = 0.05
_RECONNECT = glide.BackoffStrategy(num_of_retries=5, factor=20, exponent_base=2)
_TOPOLOGY_CHECK_S = 5
_RECONCILE_MS = 250


class CallFailed(Exception):
    """A call got an error. `sent` is False when the server certainly did not run it."""

    def __init__(self, text: str, *, sent: bool, answered: bool) -> None:
        super().__init__(text)
        self.text = text
        self.sent = sent
        #: The server answered with an error, as opposed to no answer at all.
        self.answered = answered

    @property
    def is_full(self) -> bool:
        """Whether the server has no memory left for this."""
        return "OOM" in self.text


class Client:
    """A connection to a server or cluster. Make it with `connect`."""

    def __init__(self, *, cluster: bool) -> None:
        self.cluster = cluster
        self._loop = asyncio.get_running_loop()
        self._glide: Any = None
        #: Subscriptions have a separate connection: on a shared one, confirmations of
        #: SUBSCRIBE were seen to arrive as the replies of other calls (valkey-glide 2.5.3).
        self._listener: Any = None
        self._handlers: dict[str, Callable[[str], None]] = {}
        self._pending: deque[Pending] = deque()
        self._batches: set[asyncio.Task[None]] = set()
        self._flush_planned = False
        self._closed = False
        #: While a single server is known to be down, calls fail immediately and are not sent.
        self._recovery: asyncio.Task[None] | None = None
        self._addresses: Sequence[tuple[str, int]] = ()

    @classmethod
    async def connect(
        cls, url: StoreUrl, *, timeout_ms: int, try_timeout_ms: int = TRY_TIMEOUT_MS
    ) -> Client:
        """Connect once; raises StoreUnavailable if the server cannot be reached."""
        glide.Logger.init(glide.LogLevel.OFF)
        read_replies_here()
        await _probe(url.addresses, timeout_ms)
        client = cls(cluster=url.cluster)
        client._addresses = url.addresses
        timeouts = (timeout_ms, try_timeout_ms)
        try:
            client._glide = await _create(url, None, *timeouts)
            client._listener = await _create(url, client._on_message, *timeouts)
        except glide.GlideError as error:
            await client.close()
            message = f"cannot connect to {url}: {error}"
            if any(word in str(error) for word in REFUSED_LOGIN):
                raise StoreIncompatible(message, store=str(url)) from error
            raise StoreUnavailable(message, store=str(url)) from error
        return client

    async def close(self) -> None:
        """Close the connection; calls under way fail."""
        read_replies_here()
        self._closed = True
        self._drop_pending("the client is closed")
        under_way: list[asyncio.Task[None]] = [*self._batches]
        if self._recovery is not None:
            under_way.append(self._recovery)
        await stop(*under_way)
        for connection in (self._glide, self._listener):
            if connection is not None:
                await connection.close()

    async def call(self, args: Command) -> Any:
        """Send a command, together with others of the same moment. Raises CallFailed."""
        if self._closed:
            raise CallFailed("the client is closed", sent=False, answered=False)
        if self._recovery is not None:
            raise CallFailed("no server answered", sent=False, answered=False)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._pending.append((args, future))
        if not self._flush_planned:
            self._flush_planned = True
            loop.call_soon(self._flush)
        return await future

    def _flush(self) -> None:
        self._flush_planned = False
        read_replies_here()
        while self._pending and len(self._batches) < MOST_BATCHES:
            batch = self._next_batch()
            if not batch:
                return
            task = asyncio.get_running_loop().create_task(self._send(batch))
            self._batches.add(task)

    def _next_batch(self) -> list[Pending]:
        batch: list[Pending] = []
        size = 0
        while self._pending and len(batch) < MOST_CALLS_IN_BATCH:
            args, future = self._pending[0]
            size += sum(map(len, args))
            if batch and size > MOST_BYTES_IN_BATCH:
                break
            self._pending.popleft()
            if not future.cancelled():
                batch.append((args, future))
        return batch

    async def _send(self, batch: list[Pending]) -> None:
        try:
            replies = await self._exec([args for args, _ in batch])
        except glide.GlideError as error:
            replies = [error] * len(batch)
        except BaseException as error:
            # The client is closing, or there is a bug: no caller may wait for ever.
            for _, future in batch:
                _settle(future, CallFailed(repr(error), sent=True, answered=False))
            raise
        finally:
            self._batches.discard(cast("asyncio.Task[None]", asyncio.current_task()))
        for (_, future), reply in zip(batch, replies, strict=True):
            _settle(future, _failure(reply) if isinstance(reply, Exception) else reply)
        if all(isinstance(reply, _NO_ANSWER) for reply in replies):
            self._await_recovery()
        self._flush()

    def _drop_pending(self, why: str) -> None:
        for _, future in self._pending:
            _settle(future, CallFailed(why, sent=False, answered=False))
        self._pending.clear()

    def _await_recovery(self) -> None:
        """Stop sending to a server that is down. A cluster has others, so sending continues."""
        if self.cluster or self._closed or self._recovery is not None:
            return
        self._drop_pending("no server answered")
        self._recovery = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        while True:
            try:
                await _probe(self._addresses, 1_000)
            except StoreUnavailable:
                await asyncio.sleep(_PROBE_EVERY_S)
            else:
                self._recovery = None
                return

    async def _exec(self, commands: list[Command]) -> list[Any]:
        if len(commands) == 1:
            return [await self._glide.custom_command(list(commands[0]))]
        batch = (
            glide.ClusterBatch(is_atomic=False) if self.cluster else glide.Batch(is_atomic=False)
        )
        for command in commands:
            batch.custom_command(list(command))
        replies: list[Any] = await self._glide.exec(batch, raise_on_error=False)
        return replies

    async def on_primaries(self, args: Command) -> list[Any]:
        """Send a command to every primary; returns their replies."""
        read_replies_here()
        try:
            if not self.cluster:
                return [await self._glide.custom_command(list(args))]
            replies = await self._glide.custom_command(list(args), glide.AllPrimaries())
        except glide.GlideError as error:
            raise _failure(error) from error
        return list(replies.values()) if isinstance(replies, dict) else [replies]

    async def subscribe(self, handlers: dict[str, Callable[[str], None]]) -> None:
        """Call a handler for each message on its channel, until unsubscribed."""
        read_replies_here()
        self._handlers.update(handlers)
        channels = set(handlers)
        try:
            if self.cluster:
                await self._listener.ssubscribe(channels, timeout_ms=SUBSCRIBE_TIMEOUT_MS)
            else:
                await self._listener.subscribe(channels, timeout_ms=SUBSCRIBE_TIMEOUT_MS)
        except glide.GlideError:
            # The client library keeps trying; until it succeeds, polling takes its place.
            log.warning("subscribing is slow", extra={"channels": len(channels)})

    async def unsubscribe(self, channels: Sequence[str]) -> None:
        """Stop listening to channels."""
        for channel in channels:
            self._handlers.pop(channel, None)
        if self._closed:
            return
        if self.cluster:
            await self._listener.sunsubscribe_lazy(set(channels))
        else:
            await self._listener.unsubscribe_lazy(set(channels))

    def _on_message(self, message: Any, _context: Any) -> None:
        """Handle a message in this client's loop, no matter which loop has read it."""
        if not self._loop.is_closed():
            channel, text = message.channel.decode(), message.message.decode()
            self._loop.call_soon_threadsafe(self._dispatch, channel, text)

    def _dispatch(self, channel: str, text: str) -> None:
        handler = self._handlers.get(channel)
        if handler is not None:
            handler(text)


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


_NO_ANSWER = (glide.ConnectionError, glide.TimeoutError, glide.ClosingError)

# Words with which a server says that it did not run the command. The client library spells some of
# them differently, such as `Moved`.
_NOT_RUN = re.compile(
    r"\b(loading|busyloading|busy|masterdown|clusterdown|tryagain|readonly|moved|ask|oom|noauth"
    r"|wrongpass|noperm|function not found|maximum inflight)\b",
    re.IGNORECASE,
)
# What the library reports about its own connections, also as an error of another kind.
_OWN_TROUBLE = re.compile(r"broken ?pipe|failed to (send|receive)|connection", re.IGNORECASE)


def _failure(error: Exception) -> CallFailed:
    text = str(error)
    not_run = _NOT_RUN.search(text) is not None
    if isinstance(error, _NO_ANSWER) or (not not_run and _OWN_TROUBLE.search(text)):
        return CallFailed(text, sent="maximum inflight" not in text, answered=False)
    return CallFailed(text, sent=not not_run, answered=True)


async def _probe(addresses: Sequence[tuple[str, int]], timeout_ms: int) -> None:
    """Reach one of the addresses; the client library would block the event loop to find out."""
    problem: Exception | None = None
    for host, port in addresses:
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                _, writer = await asyncio.open_connection(host, port)
            writer.close()
        except (OSError, TimeoutError) as error:
            problem = error
        else:
            return
    places = ", ".join(f"{host}:{port}" for host, port in addresses)
    message = f"no Valkey server answers at {places}: start one, or check the address"
    raise StoreUnavailable(message, addresses=places) from problem


async def _create(
    url: StoreUrl,
    on_message: Callable[..., None] | None,
    timeout_ms: int,
    try_timeout_ms: int,
) -> Any:
    config: Any = glide.GlideClientConfiguration
    advanced: Any = glide.AdvancedGlideClientConfiguration
    create: Any = glide.GlideClient.create
    options: dict[str, Any] = {}
    if url.cluster:
        config = glide.GlideClusterClientConfiguration
        advanced = glide.AdvancedGlideClusterClientConfiguration
        create = glide.GlideClusterClient.create
        check = glide.PeriodicChecksManualInterval(_TOPOLOGY_CHECK_S)
        options["periodic_checks"] = check
    if url.password is not None:
        options["credentials"] = glide.ServerCredentials(url.password, url.username)
    if on_message is not None:
        subscriptions = config.PubSubSubscriptions({}, on_message, None)
        options["pubsub_subscriptions"] = subscriptions
    return await create(
        config(
            addresses=[glide.NodeAddress(host, port) for host, port in url.addresses],
            use_tls=url.tls,
            request_timeout=try_timeout_ms,
            reconnect_strategy=_RECONNECT,
            client_name="holdfast",
            protocol=glide.ProtocolVersion.RESP3,
            advanced_config=advanced(
                connection_timeout=timeout_ms,
                pubsub_reconciliation_interval=_RECONCILE_MS,
            ),
            **options,
        )
    )

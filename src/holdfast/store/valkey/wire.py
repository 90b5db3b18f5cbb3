"""One connection to one server: commands out, replies back in the same order."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import libvalkey

from holdfast.store.valkey import failures
from holdfast.store.valkey.acks import Ack

Address = tuple[str, int]
Command = Sequence[str | bytes]
#: A packed command, and where its reply goes.
Call = tuple[bytes, "asyncio.Future[Any]"]

#: Bytes that wait in this process before sending pauses.
_MOST_BYTES_WAITING = 4 << 20

_INCOMPLETE: Any = object()


def pack(command: Command) -> bytes:
    """Return a command as it is sent."""
    packed: bytes = libvalkey.pack_command(tuple(command))
    return packed


class Wire(asyncio.Protocol):
    """A connection. Make it with `Dial.open`."""

    def __init__(self, timeout_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = libvalkey.Reader(notEnoughData=_INCOMPLETE)
        self._transport: Any = None
        #: The calls without a reply, with the time by which they must have one.
        self._waiting: deque[tuple[asyncio.Future[Any], float]] = deque()
        self._timeout_s = timeout_s
        self._timer: asyncio.TimerHandle | None = None
        self._why = "the connection was lost"
        self.is_open = False
        self.is_paused = False
        #: Called after replies have arrived, and when sending may continue.
        self.on_room: Callable[[], None] = nothing
        #: Called once, when the connection has ended.
        self.on_lost: Callable[[], None] = nothing
        #: Takes replies that belong to no call, if the connection listens to channels.
        self.on_push: Callable[[Any], None] | None = None

    @property
    def under_way(self) -> int:
        """How many calls wait for a reply."""
        return len(self._waiting)

    def send(self, calls: list[Call]) -> None:
        """Send calls; each future gets its reply or a CallFailed."""
        deadline = self._loop.time() + self._timeout_s
        self._waiting.extend([(future, deadline) for _, future in calls])
        self._transport.write(b"".join([packed for packed, _ in calls]))
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check_time)

    def post(self, packed: bytes) -> None:
        """Send a command whose reply arrives as a push."""
        self._transport.write(packed)

    def close(self, why: str = "the client is closed") -> None:
        """End the connection; calls under way fail."""
        self._why = why
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept calls."""
        self._transport = transport
        self._transport.set_write_buffer_limits(high=_MOST_BYTES_WAITING)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Give replies to their callers."""
        reader, waiting = self._reader, self._waiting
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not _INCOMPLETE:
                if self.on_push is not None and not self._is_answer(reply):
                    self.on_push(reply)
                    continue
                future, _ = waiting.popleft()
                if future.done():
                    continue
                if isinstance(reply, libvalkey.ReplyError):
                    future.set_exception(failures.answered(str(reply)))
                else:
                    future.set_result(reply)
        except (libvalkey.ProtocolError, IndexError) as error:
            self.close(f"the server does not speak RESP3 ({error})")
        self.on_room()

    def _is_answer(self, reply: Any) -> bool:
        """Whether a connection that listens got the reply of a call, and no push."""
        return bool(self._waiting) and not isinstance(reply, list | libvalkey.ReplyError)

    def pause_writing(self) -> None:
        """Stop sending: the server reads more slowly than this process writes."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Continue sending."""
        self.is_paused = False
        self.on_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the calls that have no reply."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
        why = f"{self._why} ({exc})" if exc is not None else self._why
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_exception(failures.unanswered(why))
        self.on_lost()

    def _check_time(self) -> None:
        """End a connection whose server no longer answers."""
        self._timer = None
        if not self._waiting:
            return
        _, deadline = self._waiting[0]
        if deadline <= self._loop.time():
            self.close(f"no answer within {self._timeout_s:g} s")
        else:
            self._timer = self._loop.call_at(deadline, self._check_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """How to connect to a server."""

    tls: bool
    username: str | None
    password: str | None = field(repr=False)
    connect_timeout_s: float
    #: How long a single call may hang.
    timeout_s: float
    #: What must have a change before it is acknowledged.
    ack: Ack | None = None

    async def open(self, address: Address) -> Wire:
        """Connect and log in; raises CallFailed."""
        wire: Wire | None = None
        try:
            async with asyncio.timeout(self.connect_timeout_s):
                wire = await self._connect(address)
                await self._greet(wire)
        except (OSError, TimeoutError, ValueError) as error:
            # A host name that cannot be encoded is a UnicodeError.
            if wire is not None:
                wire.close()
            reason = str(error) or "no answer"
            raise failures.not_sent(f"{address[0]}:{address[1]}: {reason}") from error
        except BaseException:
            if wire is not None:
                wire.close()
            raise
        return wire

    async def _connect(self, address: Address) -> Wire:
        loop = asyncio.get_running_loop()
        host, port = address
        context = ssl.create_default_context() if self.tls else None
        _, wire = await loop.create_connection(
            lambda: Wire(self.timeout_s), host, port, ssl=context
        )
        return wire

    async def _greet(self, wire: Wire) -> None:
        login: tuple[str, ...] = ()
        if self.password is not None:
            login = ("AUTH", self.username or "default", self.password)
        hello: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        wire.send([(pack(("HELLO", "3", *login, "SETNAME", "holdfast")), hello)])
        await hello


def nothing() -> None:
    """Do nothing."""

"""The real side of the state machine: a store on a server of its own, driven synchronously."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from holdfast.errors import HoldfastError
from holdfast.store.budgets import Budgets
from holdfast.store.deployments import Deployments
from holdfast.store.executions import Executions
from holdfast.store.graphs import Graphs
from holdfast.store.lanes import Lanes
from holdfast.store.leases import Leases
from holdfast.store.outboxes import Outboxes
from holdfast.store.quotas import Quotas
from holdfast.store.sessions import Sessions
from holdfast.store.store import Store, StoreSettings
from holdfast.store.streams import Streams
from holdfast.store.timers import Timers
from holdfast.store.valkey.call import Caller, refusal_of
from holdfast.store.valkey.client import Client
from holdfast.store.valkey.urls import StoreUrl
from holdfast.store.waitpoints import Waitpoints
from holdfast.testing.clock import START_MS, Clock
from holdfast.testing.servers import start_server
from tests.support.briefs import unfolded

T = TypeVar("T")

# All keys in one round trip: key, type and content of each.
_DUMP = """
local rows = {}
local read = {
  hash = function(k) return server.call('HGETALL', k) end,
  zset = function(k) return server.call('ZRANGE', k, 0, -1, 'WITHSCORES') end,
  set = function(k) return server.call('SMEMBERS', k) end,
  list = function(k) return server.call('LRANGE', k, 0, -1) end,
  stream = function(k) return server.call('XRANGE', k, '-', '+') end,
  string = function(k) return { server.call('GET', k) } end,
}
for _, key in ipairs(server.call('KEYS', '*')) do
  local kind = server.call('TYPE', key).ok
  rows[#rows + 1] = { key, kind, read[kind](key) }
end
return rows
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was answered: what was sent, and the answer or the code of the refusal."""

    function: str
    tag: str
    args: tuple[str | bytes, ...]
    answer: list[Any] | None
    error: HoldfastError | None = None

    @property
    def code(self) -> str | None:
        """The code of the refusal."""
        return self.error.code if self.error else None


class RepeatingCaller(Caller):
    """A caller that can lose replies: the call has happened, its sender sends it again."""

    def __init__(self, store: Store, world: World) -> None:
        super().__init__(store.client, timeout_ms=5_000, loader=store.loader)
        self._world = world
        #: The replies of the coming calls are lost once.
        self.lossy = False
        #: What was called, without ticks and repetitions.
        self.calls: list[Call] = []

    async def write(self, function: str, tag: str, *args: str | bytes) -> list[Any]:
        """Call; when the reply is lost, call again, which must change nothing."""
        call = await self.send(function, tag, args)
        if self.lossy and function != "hf_timer_tick":
            before = await self._world.read_all()
            again = await self.send(function, tag, args)
            after = await self._world.read_all()
            assert _without_notes(after) == _without_notes(before)
            assert again.code == call.code
            call = again
        if function != "hf_timer_tick":
            self.calls.append(call)
        if call.error is not None:
            raise call.error
        return list(call.answer or ())

    async def send(self, function: str, tag: str, args: tuple[str | bytes, ...]) -> Call:
        """Call once, and keep the answer."""
        try:
            answer = await super().write(function, tag, *args)
        except HoldfastError as error:
            return Call(function, tag, args, None, error)
        if function.endswith("_all") and answer[0][0] == b"no":
            # The one item of the call was refused.
            return Call(function, tag, args, None, refusal_of(answer[0][1:]))
        return Call(function, tag, args, answer)


class World:
    """A store with a settable clock."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._client = client
        self._open()

    def _open(self) -> None:
        self.store = Store(self._client, StoreUrl(prefix="m"), StoreSettings(fake_clock=True))
        self.caller = RepeatingCaller(self.store, self)
        self.clock = Clock(self.store)
        self._repeat_calls_of(self.store)

    def crash(self) -> None:
        """Lose every process: the server loads what it had, another process opens the store."""
        lossy, calls = self.caller.lossy, self.caller.calls
        self.run(self._client.call(["DEBUG", "RELOAD"]))
        self._open()
        self.caller.lossy, self.caller.calls = lossy, calls
        self.run(self.store.boot())

    def _repeat_calls_of(self, store: Store) -> None:
        store.caller = self.caller
        store.executions = Executions(store)
        store.leases = Leases(store)
        store.graphs = Graphs(store)
        store.lanes = Lanes(store)
        store.timers = Timers(store)
        store.streams = Streams(store)
        store.budgets = Budgets(store)
        store.quotas = Quotas(store)
        store.outboxes = Outboxes(store)
        store.waitpoints = Waitpoints(store)
        store.sessions = Sessions(store)
        store.deployments = Deployments(store)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end."""
        return self._loop.run_until_complete(work)

    async def reset(self) -> None:
        """Start with an empty store."""
        self.caller.lossy = False
        self.caller.calls.clear()
        await self.store.client.call(["FLUSHALL"])
        await self.store.boot()
        await self.clock.set(START_MS)

    @property
    def tag(self) -> str:
        """The one partition."""
        (tag,) = self.store.tags()
        return tag

    def dump(self) -> dict[str, Any]:
        """Return every key, shaped as by tests.support.dump."""
        return self.run(self.read_all())

    async def read_all(self) -> dict[str, Any]:
        """Return every key, shaped as by tests.support.dump."""
        rows = await self.store.client.call(["EVAL", _DUMP, "0"])
        found: dict[str, Any] = {}
        for key, kind, content in rows:
            name = key.decode()
            part = name.split("}:", 1)[1]
            if part != "clock" and not part.startswith(("claim:", "batch:")):
                value = _shaped(kind, content)
                is_brief = kind == b"string" and part.startswith("x:")
                found |= unfolded(name, value) if is_brief else {name: value}
        return found


def _shaped(kind: bytes, content: list[Any]) -> Any:
    if kind == b"hash":
        return dict(zip(content[::2], content[1::2], strict=True))
    if kind == b"zset":
        scores = map(float, content[1::2])
        return dict(zip(content[::2], scores, strict=True))
    if kind == b"set":
        return set(content)
    if kind == b"stream":
        return [(name, dict(zip(flat[::2], flat[1::2], strict=True))) for name, flat in content]
    return content if kind == b"list" else content[0]


def without_meta(dump: dict[str, Any]) -> dict[str, Any]:
    """Leave out the counters that any call may move."""
    return {key: value for key, value in dump.items() if not key.endswith("}:meta")}


#: What a repeated claim notes in a record with limits, which has no brief any more then.
_NOTES = frozenset((b"asked_again", b"plain"))


def _without_notes(dump: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a repeated call may write."""
    rest = without_meta(dump)
    for key, value in rest.items():
        if isinstance(value, dict):
            rest[key] = {name: part for name, part in value.items() if name not in _NOTES}
    return rest


@contextlib.contextmanager
def open_world() -> Iterator[World]:
    """Start a server and connect to it, on an event loop of its own."""
    loop = asyncio.new_event_loop()
    with start_server("--enable-debug-command", "local") as server, contextlib.closing(loop):
        url = StoreUrl(addresses=(("127.0.0.1", server.port),))
        client = loop.run_until_complete(Client.connect(url, timeout_ms=5_000))
        try:
            yield World(client, loop)
        finally:
            loop.run_until_complete(client.close())
            loop.run_until_complete(loop.shutdown_asyncgens())

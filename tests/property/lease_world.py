# ruff: noqa: D102 - the names say it
"""A simulated object store and nodes that run the real lease code, one request at a time.

Between any two requests of a node anything may happen: other nodes act, time passes, replies are
lost, requests arrive late or twice. Nothing here waits: the coroutines are driven by hand.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import BackendFailed, HoldfastError, StaleLease
from holdfast.fencing import Ask, FencedManifest, Grant, Leases, ManifestWriter, Token, paths
from holdfast.fencing import manifest as manifests
from holdfast.fencing import record as records
from holdfast.fencing.memory import MemoryObjects
from holdfast.fencing.objects import Entry, Stored
from holdfast.model.writer_leases import LeaseRecord, Version

KEY = "reports/main"
TTL_MS, MARGIN_MS = 1_000, 150
#: Monotonic clocks run this much too fast or slow; the margins allow for it.
RATES = (1.0, 0.95, 1.05)
#: Two of them believe to be the same holder.
NAMES = ("a", "b", "a")


@dataclass(eq=False)
class Request:
    """What a node has sent and waits for; awaiting it hands it to the driver."""

    verb: str
    args: tuple[Any, ...]
    #: The answer, once it has had its effect.
    answer: Any = None
    done: bool = False

    def __await__(self) -> Generator[Request, Any, Any]:
        return (yield self)

    def __str__(self) -> str:
        name = str(self.args[0]).rsplit("/", 1)[-1] if self.args else ""
        return f"{self.verb} {name}"


class History:
    """The backend's true state, and what must hold of every write to it."""

    def __init__(self) -> None:
        self.objects: MemoryObjects = MemoryObjects()
        self.tokens: list[Token] = []
        self.owners: dict[Token, str] = {}
        self.commits: list[manifests.Snapshot] = []
        self.acknowledged: set[str] = set()
        #: Once a writer of this token has the manifest open, no older one commits.
        self.opened: Token = Token(0, 0)

    def apply(self, request: Request) -> None:
        """Let a request have its effect; a condition that fails is an answer too."""
        try:
            request.answer = _run(getattr(self, f"_{request.verb}")(*request.args))
        except HoldfastError as error:
            request.answer = error
        request.done = True

    async def _get(self, key: str) -> Stored | None:
        return await self.objects.get(key)

    async def _list(self, prefix: str) -> list[Entry]:
        return [entry async for entry in self.objects.list(prefix)]

    async def _delete(self, key: str) -> None:
        assert key.startswith("objects/"), f"{key} must never be deleted"
        assert key not in self.commits[-1].objects, f"{key} is real but was collected"
        await self.objects.delete(key)

    async def _put(self, key: str, body: bytes, version: Version | None) -> Version:
        if version is None:
            new = await self.objects.put_if_absent(key, body)
        else:
            new = await self.objects.put_if_version(key, body, version)
        if key == paths.lease(KEY):
            self._check_lease(records.parse(body, key))
        elif key == paths.manifest(KEY):
            self._check_commit(manifests.parse(body, new, key))
        return new

    def _check_lease(self, record: LeaseRecord) -> None:
        token = record.token
        if token not in self.owners:
            assert not self.tokens or token > self.tokens[-1], f"{token} after {self.tokens[-1]}"
            self.tokens.append(token)
            self.owners[token] = record.incarnation
        assert self.owners[token] == record.incarnation, f"{token} has two owners"

    def _check_commit(self, snapshot: manifests.Snapshot) -> None:
        if self.commits:
            last = self.commits[-1]
            assert snapshot.token >= last.token, f"{snapshot.token} committed after {last.token}"
            assert snapshot.sequence == last.sequence + 1
            if snapshot.token == last.token:
                assert snapshot.incarnation == last.incarnation, "two writers of one token"
            assert set(last.objects) <= set(snapshot.objects), "a commit was lost"
        assert snapshot.token >= self.opened, f"{snapshot.token} committed after a take-over"
        assert self.owners.get(snapshot.token) == snapshot.incarnation
        items = [facts["item"] for facts in snapshot.objects.values()]
        assert len(items) == len(set(items)), "an item was committed twice"
        assert self.acknowledged <= set(items), "an acknowledged commit was lost"
        self.commits.append(snapshot)


def _run(call: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing."""
    try:
        call.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits")


class Wire:
    """The object store as a node sees it: requests that the driver answers."""

    name = "simulated"

    async def get(self, key: str) -> Stored | None:
        found: Stored | None = await Request("get", (key,))
        return found

    async def get_range(self, key: str, start: int, length: int) -> bytes | None:
        found = await self.get(key)
        return found.body[start : start + length] if found else None

    async def put_if_absent(self, key: str, body: bytes) -> Version:
        version: Version = await Request("put", (key, body, None))
        return version

    async def put_if_version(self, key: str, body: bytes, version: Version) -> Version:
        new: Version = await Request("put", (key, body, version))
        return new

    async def delete(self, key: str) -> None:
        await Request("delete", (key,))

    async def list(self, prefix: str) -> AsyncIterator[Entry]:
        entries: list[Entry] = await Request("list", (prefix,))
        for entry in entries:
            yield entry


@dataclass
class Clocks:
    """The clocks of a node: one runs at its own rate, the other shows anything."""

    rate: float
    running_ms: float = 5_000.0
    wall: int = 1_700_000_000_000
    frozen: bool = False

    def monotonic_ms(self) -> float:
        return self.running_ms

    def wall_ms(self) -> int:
        return self.wall

    async def sleep(self, ms: float) -> None:
        await Request("sleep", (self.running_ms + ms,))


@dataclass(eq=False)
class Node:
    """A process that contends for the lease and commits while it may."""

    name: str
    number: int
    clocks: Clocks
    history: History
    starts: Any = field(default_factory=lambda: itertools.count(1))
    incarnation: str = ""
    grant: Grant | None = None
    writer: ManifestWriter | None = None
    busy: Coroutine[Any, Any, Any] | None = None
    doing: str = ""
    request: Request | None = None
    #: A clock that stands still takes away what time alone promises.
    excused: bool = False

    def __post_init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Die and start again: everything but the stable name is forgotten."""
        if self.busy is not None:
            self.busy.close()
        self.incarnation = f"{self.name}{self.number}-{next(self.starts)}"
        self.grant = self.writer = self.busy = self.request = None
        self.leases: Leases = Leases(Wire(), self.clocks)
        self.manifest: FencedManifest = FencedManifest(Wire(), KEY, self.clocks)
        self.excused = False

    # The authority that the manifest asks

    @property
    def token(self) -> Token:
        assert self.grant is not None
        return self.grant.token

    @property
    def holder(self) -> str:
        return self.name

    @property
    def has_authority(self) -> bool:
        return self.grant is not None and self.clocks.monotonic_ms() < self.grant.deadline_ms

    def check(self) -> None:
        if not self.has_authority:
            raise StaleLease("no authority", key=KEY)

    # Operations, each a coroutine of the real code

    async def acquire(self, term: int | None = None) -> None:
        ask = Ask(
            holder=self.name,
            incarnation=self.incarnation,
            ttl_ms=TTL_MS,
            margin_ms=MARGIN_MS,
            term=term,
            preempt=term is not None,
        )
        self.grant = await self.leases.acquire(KEY, ask)
        self.writer = None
        self.excused = self.clocks.frozen

    async def refresh(self) -> None:
        if self.grant is not None:
            self.grant = await self.leases.refresh(self.grant)

    async def release(self) -> None:
        grant, self.grant, self.writer = self.grant, None, None
        if grant is not None:
            await self.leases.release(grant)

    async def hand_over(self, to: str) -> None:
        grant, self.grant, self.writer = self.grant, None, None
        if grant is not None:
            await self.leases.hand_over(grant, to)

    async def commit(self, item: str) -> None:
        if self.grant is None:
            return
        writer, self.writer = self.writer, None
        if writer is None:
            authority = _Authority(self, self.token)
            writer = await self.manifest.open(authority)
            self.history.opened = max(self.history.opened, authority.token)
        name = await writer.put(item.encode())
        await writer.commit(add={name: {"item": item}})
        self.history.acknowledged.add(item)
        self.writer = writer

    async def collect(self) -> None:
        if self.writer is not None:
            await self.writer.collect()


@dataclass
class _Authority:
    """The lease under which a writer was opened; a later one of the node is another."""

    node: Node
    token: Token

    @property
    def holder(self) -> str:
        return self.node.name

    @property
    def incarnation(self) -> str:
        return self.node.incarnation

    def check(self) -> None:
        self.node.check()
        if self.node.token != self.token:
            raise StaleLease("another lease", key=KEY)


def lost(request: Request) -> BackendFailed:
    """Return what a node gets instead of an answer."""
    return BackendFailed(f"no answer to {request}", maybe_done=True)

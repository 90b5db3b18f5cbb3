"""The servers of a cluster: which one has which slot, and where a call goes."""

from __future__ import annotations

import asyncio
import binascii
import random
from collections.abc import Sequence
from typing import Any

from holdfast.concurrency import stop
from holdfast.store.valkey import failures
from holdfast.store.valkey.acked_node import node_at
from holdfast.store.valkey.acks import tag_of
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import Node
from holdfast.store.valkey.wire import Address, Command, Dial, pack

SLOTS = 16_384
_MOST_REDIRECTS = 5
#: Commands whose first key is their third argument.
_SCRIPTS = frozenset({"FCALL", "FCALL_RO", "EVAL", "EVAL_RO"})
#: Answers of a server that no longer has the slot, or cannot use it.
_MOVING = ("CLUSTERDOWN", "READONLY", "MASTERDOWN")


def slot_of(key: str | bytes) -> int:
    """Return the slot of a key: that of its tag in braces, if it has one."""
    raw = key.encode() if isinstance(key, str) else key
    _, brace, rest = raw.partition(b"{")
    tag, end, _ = rest.partition(b"}")
    return binascii.crc_hqx(tag if brace and end and tag else raw, 0) % SLOTS


class Cluster:
    """The primaries of a cluster."""

    def __init__(self, seeds: Sequence[Address], dial: Dial) -> None:
        self._seeds = tuple(seeds)
        self._dial = dial
        self._nodes: dict[Address, Node] = {}
        self._owners: list[Node | None] = [None] * SLOTS
        self._slots: dict[str | bytes, int] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._closed = False
        self._leaving: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Learn the slots from any server; raises CallFailed."""
        await self._refresh()

    async def close(self) -> None:
        """Close all connections; calls under way fail."""
        self._closed = True
        if self._refreshing is not None:
            await stop(self._refreshing)
        await asyncio.gather(*(node.close() for node in self._nodes.values()), *self._leaving)

    async def call(self, command: Command) -> Any:
        """Send a command to the server that has its key; raises CallFailed.

        While a slot moves key by key, no server has all of its keys. The server that had them says
        ASK, but the one that it names would see a part of a partition, so this raises until the
        slot has arrived.
        """
        if self._closed:
            raise failures.not_sent("the client is closed")
        packed, tag = pack(command), tag_of(command)
        node = self._owner(self._slot(command))
        for _ in range(_MOST_REDIRECTS):
            try:
                return await node.send(packed, tag=tag)
            except CallFailed as failure:
                last = failure
            word, _, rest = last.text.partition(" ")
            if word == "MOVED":
                node = self._node(_target(rest, node))
                self._owners[int(rest.partition(" ")[0])] = node
                self.refresh_soon()
            else:
                if not last.answered or word in _MOVING:
                    self.refresh_soon()
                raise last
        raise last

    async def on_primaries(self, command: Command) -> list[Any]:
        """Send a command to every primary; returns their replies."""
        return await asyncio.gather(*(node.call(command) for node in self.primaries()))

    def primaries(self) -> list[Node]:
        """Return every server that has slots."""
        return list({id(node): node for node in self._owners if node is not None}.values())

    def address_of(self, key: str) -> Address:
        """Return where the primary of a key is; raises CallFailed."""
        return self._owner(self._slot(("", key))).address

    def refresh_soon(self) -> None:
        """Learn again which server has which slot, in the background."""
        if self._refreshing is None:
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh_quietly())

    async def _refresh_quietly(self) -> None:
        try:
            await self._refresh()
        except CallFailed:
            pass  # The next call that fails tries again.
        finally:
            self._refreshing = None

    async def _refresh(self) -> None:
        known = list(self._nodes)
        random.shuffle(known)
        problem = failures.not_sent("no server of the cluster answered")
        for address in (*known, *(seed for seed in self._seeds if seed not in self._nodes)):
            try:
                ranges = await self._node(address).call(("CLUSTER", "SLOTS"))
            except CallFailed as failure:
                problem = failure
                continue
            if ranges:
                self._learn(ranges, address)
                return
            problem = failures.not_sent("CLUSTERDOWN the cluster has no slots")
        raise problem

    def _learn(self, ranges: list[Any], teller: Address) -> None:
        owners: list[Node | None] = [None] * SLOTS
        for first, last, (host, port, *_), *_ in ranges:
            # A server that does not know its own address leaves it out.
            node = self._node((host.decode() if host else teller[0], port))
            owners[first : last + 1] = [node] * (last + 1 - first)
        self._owners = owners
        in_use = {node.address for node in owners if node is not None}
        for address in self._nodes.keys() - in_use:
            leaving = asyncio.get_running_loop().create_task(self._nodes.pop(address).close())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    def _node(self, address: Address) -> Node:
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = node_at(address, self._dial)
        return node

    def _owner(self, slot: int) -> Node:
        node = self._owners[slot]
        if node is None:
            self.refresh_soon()
            message = f"CLUSTERDOWN no server has slot {slot}"
            raise failures.not_sent(message)
        return node

    def _slot(self, command: Command) -> int:
        if len(command) == 1:
            return random.randrange(SLOTS)  # noqa: S311 - any server can answer
        key = command[3 if command[0] in _SCRIPTS else 1]
        slot = self._slots.get(key)
        if slot is None:
            slot = slot_of(key)
            if len(self._slots) < SLOTS:
                self._slots[key] = slot
        return slot


def _target(redirect: str, node: Node) -> Address:
    """Read the address of `SLOT HOST:PORT`; without a host it is the one that was asked."""
    host, _, port = redirect.split(" ")[1].rpartition(":")
    return host or node.address[0], int(port)

"""Channels: keeps those subscribed that have a handler, no matter what happens to connections.

Subscriptions have connections of their own. A server confirms a subscription with a push but
refuses it with a plain error, which on a shared connection looks like the reply of another call.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from holdfast.concurrency import stop
from holdfast.store.valkey.cluster import Cluster, slot_of
from holdfast.store.valkey.failures import CallFailed
from holdfast.store.valkey.node import Node, ignore
from holdfast.store.valkey.wire import Address, Dial, Wire, nothing, pack

log: logging.Logger = logging.getLogger(__name__)

#: How long a subscriber waits for the confirmation.
_PATIENCE_S = 5.0
#: How often a silent connection is checked.
_CHECK_EVERY_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_PING = pack(("PING",))


class Listener:
    """The channels of a client, on one server or on the primaries of a cluster."""

    def __init__(self, source: Node | Cluster, dial: Dial) -> None:
        self._source = source
        self._dial = dial
        self._loop = asyncio.get_running_loop()
        self._handlers: dict[str, Callable[[str], None]] = {}
        self._wires: dict[Address, Wire] = {}
        #: The channels that servers were asked for and that they have confirmed.
        self._asked: dict[str, Wire] = {}
        self._heard: dict[str, Wire] = {}
        self._unconfirmed: dict[str, asyncio.Future[None]] = {}
        self._changed = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop listening."""
        if self._keeper is not None:
            await stop(self._keeper)
        for wire in self._wires.values():
            wire.on_lost = nothing
            wire.close()

    async def subscribe(self, handlers: dict[str, Callable[[str], None]]) -> None:
        """Call a handler for each message on its channel; returns when servers have confirmed."""
        self._handlers.update(handlers)
        confirmations = [
            self._unconfirmed.setdefault(channel, self._loop.create_future())
            for channel in handlers
            if channel not in self._heard
        ]
        if not confirmations:
            return
        self._changed.set()
        if self._keeper is None:
            self._keeper = self._loop.create_task(self._keep())
        _, late = await asyncio.wait(confirmations, timeout=_PATIENCE_S)
        if late:
            # The keeper continues; until it succeeds, polling takes its place.
            log.warning("subscribing is slow", extra={"channels": len(late)})

    def unsubscribe(self, channels: Iterable[str]) -> None:
        """Stop listening to channels."""
        for channel in channels:
            self._handlers.pop(channel, None)
            self._settle(channel)
            wire = self._heard.pop(channel, None) or self._asked.pop(channel, None)
            if wire is not None and wire.is_open:
                wire.post(pack((self._verb("UNSUBSCRIBE"), channel)))

    async def _keep(self) -> None:
        """Ask for channels that have a handler and no connection, again and again."""
        pause = _FIRST_PAUSE_S
        while True:
            self._changed.clear()
            try:
                await self._ask([c for c in self._handlers if self._wire_of(c) is None])
            except CallFailed:
                self._refresh()
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
                continue
            pause = _FIRST_PAUSE_S
            try:
                async with asyncio.timeout(_CHECK_EVERY_S):
                    await self._changed.wait()
            except TimeoutError:
                self._check()

    async def _ask(self, channels: Sequence[str]) -> None:
        places: dict[Address, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for channel in channels:
            if isinstance(self._source, Cluster):
                # One command may name the channels of one slot.
                places[self._source.address_of(channel)][slot_of(channel)].append(channel)
            else:
                places[self._source.address][0].append(channel)
        for address, groups in places.items():
            wire = await self._open(address)
            for group in groups.values():
                wanted = [channel for channel in group if channel in self._handlers]
                self._asked |= dict.fromkeys(wanted, wire)
                if wanted:
                    wire.post(pack((self._verb("SUBSCRIBE"), *wanted)))

    async def _open(self, address: Address) -> Wire:
        wire = self._wires.get(address)
        if wire is None:
            wire = await self._dial.open(address)
            wire.on_push = partial(self._hear, wire)
            wire.on_lost = partial(self._forget, address, wire)
            self._wires[address] = wire
        return wire

    def _hear(self, wire: Wire, push: Any) -> None:
        if not isinstance(push, list):
            # A refusal, which does not say of what: ask again elsewhere.
            self._refresh()
            wire.close(str(push))
            return
        kind, channel = push[0], push[1].decode()
        if kind in (b"message", b"smessage"):
            handler = self._handlers.get(channel)
            if handler is not None:
                handler(push[2].decode())
        elif kind in (b"subscribe", b"ssubscribe"):
            if self._asked.get(channel) is wire:
                self._heard[channel] = self._asked.pop(channel)
                self._settle(channel)
        elif self._heard.get(channel) is wire:
            # The slot has moved to another server.
            del self._heard[channel]
            self._refresh()
            self._changed.set()

    def _forget(self, address: Address, wire: Wire) -> None:
        """Ask other connections for the channels of one that has ended."""
        if self._wires.get(address) is wire:
            del self._wires[address]
        for channels in (self._asked, self._heard):
            for channel in [c for c, w in channels.items() if w is wire]:
                del channels[channel]
        self._refresh()
        self._loop.call_later(_FIRST_PAUSE_S, self._changed.set)

    def _check(self) -> None:
        """Notice connections whose server no longer answers."""
        for wire in self._wires.values():
            answer = self._loop.create_future()
            answer.add_done_callback(ignore)
            wire.send([(_PING, answer)])

    def _refresh(self) -> None:
        if isinstance(self._source, Cluster):
            self._source.refresh_soon()

    def _wire_of(self, channel: str) -> Wire | None:
        return self._heard.get(channel) or self._asked.get(channel)

    def _settle(self, channel: str) -> None:
        confirmation = self._unconfirmed.pop(channel, None)
        if confirmation is not None and not confirmation.done():
            confirmation.set_result(None)

    def _verb(self, verb: str) -> str:
        return f"S{verb}" if isinstance(self._source, Cluster) else verb

"""The courier: delivers messages between partitions.

A call touches one partition. An execution that ends therefore writes to the outbox of its partition
that its quotas have room again, and a quota writes to its own that an execution may continue; a
signal that grants more of a budget writes the new limit, and what a webhook announces its id.
The process that wrote an entry delivers it immediately; the courier of any process with maintenance
delivers what is left behind. An entry may arrive twice; all receivers expect that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from holdfast.errors import BudgetNotFound, HoldfastError
from holdfast.model.waitpoints import parse_waitpoint_id
from holdfast.model.webhooks import Message, delivery
from holdfast.outages import level, will_pass
from holdfast.store import channels
from holdfast.store.outboxes import Announce, Raise, Release, WakeUp, parse
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: The process that wrote an entry usually delivers it within this time.
_GRACE_S = 0.02
#: A wake-up may be lost, and a process may die; this bounds how long an entry can go unnoticed.
POLL_S = 10.0
_ITEMS_IN_CALL = 200


class Courier:
    """Delivers the contents of outboxes."""

    name = "courier"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._under_way: dict[str, asyncio.Future[None]] = {}
        self._again: set[str] = set()
        self._closed = False
        self._channels = {channels.outbox(tag): tag for tag in (*store.tags(), *store.limit_tags())}

    def poke(self, tag: str) -> None:
        """Deliver the outbox of a partition soon; calls in the meantime count as one."""
        if tag in self._under_way:
            self._again.add(tag)
            return
        if self._closed:
            return
        self._under_way[tag] = asyncio.ensure_future(self._go(tag))

    async def _go(self, tag: str) -> None:
        try:
            more = True
            while more or tag in self._again:
                self._again.discard(tag)
                more = await self.carry(tag)
        except HoldfastError as error:
            log.log(level(error), "an outbox waits: %s", error, extra={"partition": tag})
        finally:
            del self._under_way[tag]
            self._again.discard(tag)

    async def carry(self, tag: str) -> bool:
        """Deliver the oldest entries of a partition; returns whether there are more."""
        return await self._carry(tag, await self._store.outboxes.read(tag))

    async def deliver(self, tag: str) -> None:
        """Deliver everything in a partition's outbox; entries that cannot be delivered now stay."""
        try:
            while await self.carry(tag):
                pass
        except HoldfastError as error:
            log.warning("an outbox waits: %s", error, extra={"partition": tag})

    async def _carry(self, tag: str, entries: Sequence[bytes]) -> bool:
        if not entries:
            return False
        words = [parse(entry) for entry in entries]
        await asyncio.gather(
            self._release([word for word in words if isinstance(word, Release)]),
            self._wake([word for word in words if isinstance(word, WakeUp)]),
            *(self._raise(word) for word in words if isinstance(word, Raise)),
            *(self._announce(word) for word in words if isinstance(word, Announce)),
        )
        return await self._store.outboxes.clear(tag, entries) > 0

    async def _raise(self, word: Raise) -> None:
        budgets = self._store.budgets
        try:
            await budgets.raise_limit(word.budget, word.waitpoint, word.dimension, word.limit)
        except BudgetNotFound as error:
            log.warning("cannot raise a limit: %s", error)
            return
        # The executions that wait for the budget are in the outbox of its partition.
        self.poke(await budgets.tag(word.budget))

    async def _announce(self, word: Announce) -> None:
        message = Message(what=word.what, id=word.id, ended_ms=word.ended_ms)
        tenant = await self._tenant_of(message)
        if tenant is None:
            return
        (answer,) = await self._store.executions.create([delivery(message, tenant)])
        if isinstance(answer, HoldfastError):
            if will_pass(answer):
                raise answer
            log.warning("cannot announce %s %s: %s", word.what, word.id, answer)

    async def _tenant_of(self, message: Message) -> str | None:
        """Return whose this is, or None if it no longer exists."""
        if message.what == "waitpoint":
            execution_id, _ = parse_waitpoint_id("waitpoint", message.id)
            ending = await self._store.webhooks.ending("execution", execution_id)
        else:
            ending = await self._store.webhooks.ending(message.what, message.id)
        return None if ending is None else ending.tenant

    async def _release(self, releases: Sequence[Release]) -> None:
        quotas: dict[str, list[tuple[str, str, str, Sequence[str]]]] = {}
        budgets: dict[str, list[tuple[str, str, Sequence[str]]]] = {}
        for word in releases:
            by_tag: dict[str, list[str]] = {}
            for limit in word.limits:
                tag = self._store.limit_tag(limit)
                if limit.kind == "quota":
                    by_tag.setdefault(tag, []).append(limit.name)
                else:
                    item = (word.executions, word.epoch, [limit.id])
                    budgets.setdefault(tag, []).append(item)
            for tag, names in by_tag.items():
                released = (word.executions, word.epoch, word.used, names)
                quotas.setdefault(tag, []).append(released)
        await asyncio.gather(
            *(
                self._release_in(tag, items[start : start + _ITEMS_IN_CALL])
                for tag, items in quotas.items()
                for start in range(0, len(items), _ITEMS_IN_CALL)
            ),
            *(self._store.budgets.forget(tag, items) for tag, items in budgets.items()),
        )

    async def _release_in(
        self, tag: str, items: Sequence[tuple[str, str, str, Sequence[str]]]
    ) -> None:
        entries = await self._store.quotas.release(tag, items)
        if await self._carry(tag, entries):
            self.poke(tag)

    async def _wake(self, words: Sequence[WakeUp]) -> None:
        by_tag: dict[str, list[tuple[str, str]]] = {}
        for word in words:
            tag = self._store.tag_of(word.execution_id)
            by_tag.setdefault(tag, []).append((word.execution_id, word.limit))
        await asyncio.gather(
            *(
                self._store.executions.unblock(tag, woken[start : start + _ITEMS_IN_CALL])
                for tag, woken in by_tag.items()
                for start in range(0, len(woken), _ITEMS_IN_CALL)
            )
        )

    async def carry_all(self) -> bool:
        """Deliver everything in all outboxes; returns whether there was anything."""
        carried = False
        while True:
            tags = list(self._channels.values())
            outboxes = await asyncio.gather(*map(self._store.outboxes.read, tags))
            full = [(tag, entries) for tag, entries in zip(tags, outboxes, strict=True) if entries]
            if not full:
                return carried
            carried = True
            await asyncio.gather(*(self._carry(tag, entries) for tag, entries in full))

    async def run(self) -> None:
        """Deliver entries that other processes left behind, until cancelled."""
        await self._store.subscriptions.add(self._channels, self._on_wake)
        try:
            while True:
                for tag in self._channels.values():
                    self.poke(tag)
                await asyncio.sleep(POLL_S)
        finally:
            await self._store.subscriptions.remove(self._channels, self._on_wake)

    def _on_wake(self, channel: str, _message: str) -> None:
        asyncio.get_running_loop().call_later(_GRACE_S, self.poke, self._channels[channel])

    async def close(self) -> None:
        """Start no more deliveries, and wait for those under way."""
        self._closed = True
        await self.settle()

    async def settle(self) -> None:
        """Wait for the deliveries under way."""
        while self._under_way:
            await asyncio.gather(*self._under_way.values(), return_exceptions=True)

"""Every operation on message queues, checked at its entry."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from typing_extensions import override

from holdfast import api
from holdfast.errors import (
    HoldfastError,
    InvalidDeadLetter,
    InvalidInput,
    QueueConflict,
    QueueNotFound,
)
from holdfast.model import bounds, checks
from holdfast.model.deliveries import (
    Claimed,
    Delivery,
    PendingDelivery,
    Read,
    Settle,
    Settled,
    Takeover,
    Verb,
)
from holdfast.model.effects import Effect, Push, Submit
from holdfast.model.messages import (
    LetterFilter,
    Message,
    NewMessage,
    Pushed,
    Redrive,
    Start,
    check_target,
)
from holdfast.model.queues import Queue, QueueSettings, QueueStats
from holdfast.queues.abandoned_reads import AbandonedReads
from holdfast.queues.effects import encode
from holdfast.queues.outbox import QueueOutboxes
from holdfast.queues.readers import Readers
from holdfast.queues.transfers import Transfers
from holdfast.store.queues import BYTES_IN_CALL, ITEMS_IN_CALL
from holdfast.store.store import Store

T = TypeVar("T")

_VERBS = ("ack", "nack", "release", "reject")
#: How many queues of a list are described concurrently.
_PAGE = 1000


class Queues(api.Queues):
    """Message queues on an open store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outboxes = QueueOutboxes(store)
        self._transfers = Transfers(store, self._outboxes)
        self._readers = Readers(store)
        self._returns = AbandonedReads(store)

    async def close(self) -> None:
        """Stop listening; reads that wait raise ReadCancelled."""
        await self._readers.close()
        await self._returns.close()

    # Definitions

    @override
    async def define(self, name: str, settings: QueueSettings | None = None, **fields: Any) -> bool:
        _queue(name)
        if settings is None:
            settings = QueueSettings.from_fields(fields)
        else:
            checks.instance("settings", settings, QueueSettings)
        target = settings.dead_letter
        if target == name:
            raise InvalidDeadLetter("a queue cannot be its own dead-letter queue", queue=name)
        if target is not None:
            await self._store.queues.accept_dead_letters(target)
        return await self._store.queues.define(name, settings)

    @override
    async def describe(self, name: str) -> Queue:
        return await self._store.queues.describe(_queue(name))

    @override
    async def list(
        self, *, limit: int = 50, after: str | None = None, tenant: str | None = None
    ) -> list[Queue]:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        if after is not None:
            _queue(after)
        queues: list[Queue] = []
        own = _of_tenant(tenant)
        last = max(after or "", own.first)
        while len(queues) < limit:
            names = await self._store.queues.names(last, min(_PAGE, limit - len(queues)))
            if not names:
                break
            last = names[-1]
            chosen = [name for name in names if own.has(name)]
            described = await asyncio.gather(*(self._described(name) for name in chosen))
            queues += [queue for queue in described if queue is not None]
            if own.first and not chosen:
                break
        return queues

    async def _described(self, name: str) -> Queue | None:
        try:
            return await self._store.queues.describe(name)
        except QueueNotFound:
            # It is listed but not yet defined, or its removal has not reached the list.
            return None

    @override
    async def delete(self, name: str) -> None:
        _queue(name)
        if not await self._store.queues.remove(name):
            left = await self._outboxes.deliver(name)
            if left or not await self._store.queues.remove(name):
                message = (
                    f"queue {name} still has messages for other queues that cannot be delivered now"
                )
                raise QueueConflict(message, queue=name)
        await self._store.queues.enlist(name, listed=False)
        if await self._described(name) is not None:
            # It was defined again in between.
            await self._store.queues.enlist(name)

    @override
    async def add_group(self, name: str, group: str, start: Start | None = None) -> bool:
        start = Start() if start is None else checks.instance("start", start, Start)
        return await self._store.queues.group(_queue(name), checks.name("group", group), start)

    @override
    async def remove_group(self, name: str, group: str) -> None:
        await self._store.queues.ungroup(_queue(name), checks.name("group", group))

    @override
    async def pause(self, name: str, group: str | None = None) -> None:
        await self._store.queues.pause(_queue(name), _group(group), paused=True)

    @override
    async def resume(self, name: str, group: str | None = None) -> None:
        await self._store.queues.pause(_queue(name), _group(group), paused=False)

    # Producing

    @override
    async def push(self, name: str, payload: bytes, **fields: Any) -> Pushed:
        item = NewMessage.from_fields({"payload": payload, **fields})
        (answer,) = await self._store.queues.push(_queue(name), [item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    @override
    async def push_many(
        self, name: str, items: Sequence[NewMessage]
    ) -> Sequence[Pushed | HoldfastError]:
        _queue(name)
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, NewMessage)
        answers: list[Pushed | HoldfastError] = []
        # One after the other: the order of messages is the order of their arrival.
        for chunk in _chunks(items):
            answers += await self._store.queues.push(name, chunk)
        return answers

    # Consuming

    @override
    async def _read(self, read: Read, stop: Callable[[], bool]) -> Sequence[Delivery]:
        name, group = read.queue, read.group or ""

        async def look() -> tuple[Sequence[Delivery], int | None]:
            answer = await self._store.queues.read(
                name, group=group, consumer=read.consumer, count=read.count, side=read.side
            )
            await self._outboxes.deliver_if_owed(name)
            return answer

        async def probe() -> tuple[Sequence[Delivery], int | None]:
            return await self._returns.unless_cancelled(name, look(), lambda answer: answer[0])

        return await self._readers.read(name, probe, read.wait_ms, stop)

    @override
    def wake(self, name: str) -> None:
        self._readers.wake(_queue(name))

    @override
    async def settle(
        self, name: str, verb: Verb, items: Sequence[Settle]
    ) -> Sequence[Settled | HoldfastError]:
        _queue(name)
        checks.one_of("verb", verb, _VERBS)
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, Settle)
        answers: list[Settled | HoldfastError] = []
        for first in range(0, len(items), ITEMS_IN_CALL):
            chunk = items[first : first + ITEMS_IN_CALL]
            answers += await self._store.queues.settle(name, verb, chunk)
        await self._outboxes.deliver_if_owed(name)
        return answers

    @override
    async def ack(self, name: str, handle: str, *effects: Effect) -> Settled:
        if not effects:
            return await self._settle_one(name, "ack", Settle(handle=handle))
        Settle(handle=handle)
        checks.integer("number of effects", len(effects), 1, bounds.EFFECTS)
        for number, effect in enumerate(effects):
            checks.instance(f"effects[{number}]", effect, Push | Submit)  # type: ignore[arg-type]
        targets = {effect.queue for effect in effects if isinstance(effect, Push)}
        await asyncio.gather(*(self.describe(target) for target in targets))
        queues = self._store.queues
        packed = [encode(queues, name, effect) for effect in await self._completed(effects)]
        settled = await queues.commit(_queue(name), handle, packed)
        await self._outboxes.deliver_if_owed(name)
        return settled

    async def _completed(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Complete the executions among effects with their declarations; raises InvalidInput."""
        whole: builtins.list[Effect] = []
        for number, effect in enumerate(effects):
            if isinstance(effect, Push):
                whole.append(effect)
                continue
            try:
                item = await self._store.declarations.completed(effect.execution)
            except InvalidInput as error:
                prefix = f"effects[{number}].execution."
                field = f"{prefix}{error.context.get('field')}"
                raise InvalidInput(prefix + error.message, field=field) from error
            whole.append(Submit(item))
        return whole

    @override
    async def extend(
        self, name: str, items: Sequence[tuple[str, int | None]]
    ) -> Sequence[datetime | HoldfastError]:
        _queue(name)
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for handle, ms in items:
            Settle(handle=handle)
            if ms is not None:
                checks.integer("extend_ms", ms, bounds.LOCK_MIN_MS, bounds.LOCK_MAX_MS)
        answers = await self._store.queues.extend(name, items)
        await self._outboxes.deliver_if_owed(name)
        return answers

    @override
    async def _claim(self, takeover: Takeover) -> Claimed:
        async def take_over() -> Claimed:
            claimed = await self._store.queues.claim(
                takeover.queue,
                group=takeover.group or "",
                consumer=takeover.consumer,
                min_idle_ms=takeover.min_idle_ms,
                count=takeover.count,
                cursor=takeover.cursor or "",
            )
            await self._outboxes.deliver_if_owed(takeover.queue)
            return claimed

        return await self._returns.unless_cancelled(
            takeover.queue, take_over(), lambda claimed: claimed.deliveries
        )

    # Operating

    @override
    async def purge(self, name: str) -> int:
        return await self._store.queues.purge(_queue(name))

    @override
    async def move(self, name: str, to: str, limit: int, *, dry_run: bool = False) -> int:
        checks.integer("limit", limit, 1, bounds.QUEUE_SIZE)
        checks.flag("dry_run", dry_run)
        check_target(_queue(name), to)
        await self._store.queues.describe(to)
        return await self._transfers.transfer(
            name, to=to, limit=limit, wanted=LetterFilter(), dry_run=dry_run
        )

    @override
    async def _redrive(self, redrive: Redrive) -> int:
        if redrive.to is not None:
            await self._store.queues.describe(redrive.to)
        return await self._transfers.transfer(
            redrive.queue,
            to=redrive.to or "",
            limit=bounds.QUEUE_SIZE if redrive.limit is None else redrive.limit,
            wanted=redrive.wanted,
            rate_per_s=redrive.rate_per_s,
            dry_run=redrive.dry_run,
        )

    @override
    async def peek(
        self, name: str, *, group: str | None = None, count: int = 1
    ) -> Sequence[Message]:
        checks.integer("count", count, 1, bounds.PAGE_ITEMS)
        return await self._store.queues.peek(_queue(name), _group(group), count)

    @override
    async def pending(
        self, name: str, *, group: str | None = None, limit: int = 50, offset: int = 0
    ) -> Sequence[PendingDelivery]:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        checks.integer("offset", offset, 0, bounds.QUEUE_SIZE)
        return await self._store.queues.pending(_queue(name), _group(group), offset, limit)

    @override
    async def stats(self, name: str, group: str | None = None) -> QueueStats:
        stats = await self._store.queues.stats(_queue(name), _group(group))
        await self._outboxes.deliver_if_owed(name)
        return stats


@dataclass(frozen=True, slots=True)
class _Own:
    """Which names a list has: a tenant's names start with it, the default tenant's do not."""

    #: The names that start with it, which are consecutive in the list.
    first: str
    plain_only: bool = False

    def has(self, name: str) -> bool:
        return name.startswith(self.first) and not (self.plain_only and "/" in name)


def _of_tenant(tenant: str | None) -> _Own:
    if tenant is None:
        return _Own("")
    checks.name("tenant", tenant)
    return _Own("", plain_only=True) if tenant == "default" else _Own(f"{tenant}/")


def _queue(name: str) -> str:
    return checks.queue("queue", name)


def _group(group: str | None) -> str:
    return "" if group is None else checks.name("group", group)


def _chunks(items: Sequence[NewMessage]) -> Iterator[Sequence[NewMessage]]:
    """Split messages into calls of bounded size."""
    first, size = 0, 0
    for index, item in enumerate(items):
        size += len(item.payload)
        if index > first and (index - first == ITEMS_IN_CALL or size > BYTES_IN_CALL):
            yield items[first:index]
            first, size = index, len(item.payload)
    if items:
        yield items[first:]

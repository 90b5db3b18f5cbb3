"""Every operation on message queues, checked at its entry."""

from __future__ import annotations

import asyncio
import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from holdfast.errors import (
    HoldfastError,
    InvalidDeadLetter,
    InvalidInput,
    QueueConflict,
    QueueNotFound,
)
from holdfast.model import bounds, checks
from holdfast.model.effects import Effect, Push, Submit
from holdfast.model.queues import (
    SIDES,
    Claimed,
    Delivery,
    LetterFilter,
    Message,
    NewMessage,
    PendingDelivery,
    Pushed,
    Queue,
    QueueSettings,
    QueueStats,
    Settle,
    Settled,
    Side,
    Start,
    Verb,
)
from holdfast.queues.effects import encode
from holdfast.queues.outbox import Outboxes
from holdfast.queues.readers import Waits
from holdfast.queues.returns import Returns
from holdfast.queues.transfers import Transfers
from holdfast.store.queues import BYTES_IN_CALL, ITEMS_IN_CALL
from holdfast.store.store import Store

T = TypeVar("T")

_VERBS = ("ack", "nack", "release", "reject")
#: Queues that are described at once for a list.
_PAGE = 1000
#: A deadline and the id of a message.
_CLAIM_CURSOR = re.compile(r"[0-9]{1,16}\|")


class Queues:
    """Message queues on an open store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._calls = store.queues
        self._outboxes = Outboxes(store)
        self._transfers = Transfers(store, self._outboxes)
        self._waits = Waits(store)
        self._returns = Returns(store)

    async def close(self) -> None:
        """Stop listening; reads that wait raise ReadCancelled."""
        await self._waits.close()
        await self._returns.close()

    # Definitions

    async def define(self, name: str, settings: QueueSettings | None = None, **fields: Any) -> bool:
        """Define a queue, or change its definition; returns whether it is new.

        The fields are those of QueueSettings. The dead-letter queue is made if it does not exist.
        """
        _queue(name)
        if settings is None:
            settings = QueueSettings.from_fields(fields)
        else:
            checks.instance("settings", settings, QueueSettings)
        target = settings.dead_letter
        if target == name:
            raise InvalidDeadLetter("a queue cannot be its own dead-letter queue", queue=name)
        if target is not None:
            await self._calls.enlist(target)
            await self._calls.accept_dead_letters(target)
        # First the list: a queue that is not in it would not be looked after.
        await self._calls.enlist(name)
        return await self._calls.define(name, settings)

    async def describe(self, name: str) -> Queue:
        """Return the definition of a queue."""
        return await self._calls.describe(_queue(name))

    async def list(
        self, *, limit: int = 50, after: str | None = None, tenant: str | None = None
    ) -> list[Queue]:
        """Return queues by name, those after a name; of one tenant, or of all."""
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        if after is not None:
            _queue(after)
        found: list[Queue] = []
        own = _of_tenant(tenant)
        last = max(after or "", own.first)
        while len(found) < limit:
            names = await self._calls.names(last, min(_PAGE, limit - len(found)))
            if not names:
                break
            last = names[-1]
            chosen = [name for name in names if own.has(name)]
            described = await asyncio.gather(*(self._described(name) for name in chosen))
            found += [queue for queue in described if queue is not None]
            if own.first and not chosen:
                break
        return found

    async def _described(self, name: str) -> Queue | None:
        try:
            return await self._calls.describe(name)
        except QueueNotFound:
            # Listed, and not yet defined; or its removal has not come to the list.
            return None

    async def delete(self, name: str) -> None:
        """Remove a queue with its messages. What it owes to others is delivered first."""
        _queue(name)
        if not await self._calls.remove(name):
            left = await self._outboxes.deliver(name)
            if left or not await self._calls.remove(name):
                message = f"queue {name} owes messages to others which cannot be delivered now"
                raise QueueConflict(message, queue=name)
        await self._calls.enlist(name, listed=False)

    async def add_group(self, name: str, group: str, start: Start | None = None) -> bool:
        """Add a group to a FANOUT queue; returns whether it is new."""
        start = Start() if start is None else checks.instance("start", start, Start)
        return await self._calls.add_group(_queue(name), checks.name("group", group), start)

    async def remove_group(self, name: str, group: str) -> None:
        """Remove a group; messages that only it had yet to retire are collected."""
        await self._calls.remove_group(_queue(name), checks.name("group", group))

    async def pause(self, name: str, group: str | None = None) -> None:
        """Hand out nothing, to a group or to all, until resumed."""
        await self._calls.set_paused(_queue(name), _group(group), paused=True)

    async def resume(self, name: str, group: str | None = None) -> None:
        """Hand out again."""
        await self._calls.set_paused(_queue(name), _group(group), paused=False)

    # Producing

    async def push(self, name: str, payload: bytes, **fields: Any) -> Pushed:
        """Push a message; the fields are those of NewMessage."""
        item = NewMessage.from_fields({"payload": payload, **fields})
        (answer,) = await self._calls.push(_queue(name), [item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    async def push_many(
        self, name: str, items: Sequence[NewMessage]
    ) -> Sequence[Pushed | HoldfastError]:
        """Push up to 1,000 messages: an answer or an error for each, in order."""
        _queue(name)
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, NewMessage)
        answers: list[Pushed | HoldfastError] = []
        # One after the other: the order of messages is the order of their arrival.
        for chunk in _chunks(items):
            answers += await self._calls.push(name, chunk)
        return answers

    # Consuming

    async def read(
        self,
        name: str,
        *,
        consumer: str,
        group: str | None = None,
        count: int = 1,
        side: Side = "left",
        wait_ms: int = 0,
        stop: Callable[[], bool] = bool,
    ) -> Sequence[Delivery]:
        """Hand out up to `count` messages, waiting up to `wait_ms` for the first.

        Returns nothing when the time is over. Raises ReadCancelled when the engine closes, or when
        `stop` returns True, which is asked after every wake-up (`wake` makes one).
        """
        _queue(name)
        group_name = _group(group)
        checks.name("consumer", consumer)
        checks.integer("count", count, 1, bounds.CLAIM_ITEMS)
        checks.one_of("side", side, SIDES)
        checks.integer("wait_ms", wait_ms, 0, bounds.DURATION_MS)

        async def probe() -> tuple[Sequence[Delivery], int | None]:
            call = self._calls.read(
                name, group=group_name, consumer=consumer, count=count, side=side
            )
            found = await self._returns.unless_cancelled(name, call)
            await self._outboxes.deliver_if_owed(name)
            return found

        return await self._waits.read(name, probe, wait_ms, stop)

    def wake(self, name: str) -> None:
        """Have readers of this process that wait for a queue look again."""
        self._waits.wake(_queue(name))

    async def settle(
        self, name: str, verb: Verb, items: Sequence[Settle]
    ) -> Sequence[Settled | HoldfastError]:
        """Settle up to 1,000 deliveries: an answer or an error for each, in order."""
        _queue(name)
        checks.one_of("verb", verb, _VERBS)
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, Settle)
        answers: list[Settled | HoldfastError] = []
        for first in range(0, len(items), ITEMS_IN_CALL):
            chunk = items[first : first + ITEMS_IN_CALL]
            answers += await self._calls.settle(name, verb, chunk)
        await self._outboxes.deliver_if_owed(name)
        return answers

    async def ack(self, name: str, handle: str, *effects: Effect) -> Settled:
        """Retire a message for its group; with effects, all or nothing and once per handle."""
        if not effects:
            return await self._settle_one(name, "ack", Settle(handle=handle))
        Settle(handle=handle)
        checks.integer("number of effects", len(effects), 1, bounds.EFFECTS)
        for number, effect in enumerate(effects):
            checks.instance(f"effects[{number}]", effect, Push | Submit)  # type: ignore[arg-type]
        targets = {effect.queue for effect in effects if isinstance(effect, Push)}
        await asyncio.gather(*(self.describe(target) for target in targets))
        packed = [encode(effect) for effect in await self._completed(effects)]
        settled = await self._calls.commit(_queue(name), handle, packed)
        await self._outboxes.deliver_if_owed(name)
        return settled

    async def _completed(self, effects: Sequence[Effect]) -> Sequence[Effect]:
        """Return the effects, executions with what their tasks declare; raises InvalidInput."""
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

    async def nack(
        self, name: str, handle: str, *, delay_ms: int | None = None, reason: str = ""
    ) -> Settled:
        """Give a message back as failed: again later, or a dead letter if its budget is spent."""
        item = Settle(handle=handle, delay_ms=delay_ms, reason=reason)
        return await self._settle_one(name, "nack", item)

    async def release(self, name: str, handle: str) -> Settled:
        """Give a message back untouched; the hand-out counts all the same."""
        return await self._settle_one(name, "release", Settle(handle=handle))

    async def reject(self, name: str, handle: str, reason: str = "") -> Settled:
        """Give a message up: it becomes a dead letter now."""
        return await self._settle_one(name, "reject", Settle(handle=handle, reason=reason))

    async def _settle_one(self, name: str, verb: Verb, item: Settle) -> Settled:
        (answer,) = await self.settle(name, verb, [item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    async def extend(
        self, name: str, items: Sequence[tuple[str, int | None]]
    ) -> Sequence[datetime | HoldfastError]:
        """Extend locks from now on, by ms or by the queue's lock time: deadlines or errors."""
        _queue(name)
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        for handle, ms in items:
            Settle(handle=handle)
            if ms is not None:
                checks.integer("extend_ms", ms, bounds.LOCK_MIN_MS, bounds.LOCK_MAX_MS)
        answers = await self._calls.extend(name, items)
        await self._outboxes.deliver_if_owed(name)
        return answers

    async def claim(
        self,
        name: str,
        *,
        consumer: str,
        min_idle_ms: int,
        group: str | None = None,
        count: int = 1,
        cursor: str | None = None,
    ) -> Claimed:
        """Take over deliveries of the group that are idle; each is a hand-out."""
        checks.name("consumer", consumer)
        checks.integer("min_idle_ms", min_idle_ms, 0, bounds.DURATION_MS)
        checks.integer("count", count, 1, bounds.CLAIM_ITEMS)
        if cursor is not None:
            checks.text("cursor", cursor, 2 * bounds.ID_CHARS)
            if cursor and not _CLAIM_CURSOR.match(cursor):
                checks.refuse("cursor", "must be one that a claim returned", cursor)
        found = await self._calls.claim(
            _queue(name),
            group=_group(group),
            consumer=consumer,
            min_idle_ms=min_idle_ms,
            count=count,
            cursor=cursor or "",
        )
        await self._outboxes.deliver_if_owed(name)
        return found

    # Operating

    async def purge(self, name: str) -> int:
        """Remove all messages, those in flight too; definition and groups stay."""
        return await self._calls.purge(_queue(name))

    async def move(self, name: str, to: str, limit: int, *, dry_run: bool = False) -> int:
        """Move ready messages to another queue, where their attempts start anew."""
        checks.integer("limit", limit, 1, bounds.QUEUE_SIZE)
        checks.flag("dry_run", dry_run)
        await self._check_target(name, to)
        return await self._transfers.transfer(
            name, to=to, limit=limit, wanted=LetterFilter(), dry_run=dry_run
        )

    async def redrive(
        self,
        name: str,
        *,
        to: str | None = None,
        wanted: LetterFilter | None = None,
        limit: int | None = None,
        rate_per_s: float | None = None,
        dry_run: bool = False,
    ) -> int:
        """Send dead letters back to where each came from, or to another queue."""
        if to is not None:
            await self._check_target(name, to)
        if limit is not None:
            checks.integer("limit", limit, 1, bounds.QUEUE_SIZE)
        if rate_per_s is not None:
            checks.number("rate_per_s", rate_per_s, 0.001, 1_000_000)
        checks.flag("dry_run", dry_run)
        wanted = LetterFilter() if wanted is None else wanted
        return await self._transfers.transfer(
            _queue(name),
            to=to or "",
            limit=bounds.QUEUE_SIZE if limit is None else limit,
            wanted=checks.instance("filter", wanted, LetterFilter),
            rate_per_s=rate_per_s,
            dry_run=dry_run,
        )

    async def _check_target(self, name: str, to: str) -> None:
        if _queue(name) == checks.queue("to", to):
            checks.refuse("to", "must be another queue", to)
        await self._calls.describe(to)

    async def peek(
        self, name: str, *, group: str | None = None, count: int = 1
    ) -> Sequence[Message]:
        """Return the next messages without handing them out."""
        checks.integer("count", count, 1, bounds.PAGE_ITEMS)
        return await self._calls.peek(_queue(name), _group(group), count)

    async def pending(
        self, name: str, *, group: str | None = None, limit: int = 50, offset: int = 0
    ) -> Sequence[PendingDelivery]:
        """Return deliveries under way, those that expire first first."""
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        checks.integer("offset", offset, 0, bounds.QUEUE_SIZE)
        return await self._calls.pending(_queue(name), _group(group), offset, limit)

    async def stats(self, name: str, group: str | None = None) -> QueueStats:
        """Return exact counts of the queue and its groups."""
        found = await self._calls.stats(_queue(name), _group(group))
        await self._outboxes.deliver_if_owed(name)
        return found


@dataclass(frozen=True, slots=True)
class _Own:
    """Which names are listed: those of a tenant start with it, those of the default one do not."""

    #: Names that start with it, which follow each other in the list.
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
    """Split so that no call is large in items or bytes."""
    first, size = 0, 0
    for index, item in enumerate(items):
        size += len(item.payload)
        if index > first and (index - first == ITEMS_IN_CALL or size > BYTES_IN_CALL):
            yield items[first:index]
            first, size = index, len(item.payload)
    if items:
        yield items[first:]

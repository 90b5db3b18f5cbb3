"""Message queues: define, produce, consume, operate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from holdfast.errors import HoldfastError
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
from holdfast.model.effects import Effect
from holdfast.model.messages import LetterFilter, Message, NewMessage, Pushed, Redrive, Side, Start
from holdfast.model.queues import Queue, QueueSettings, QueueStats


class Queues(ABC):
    """Message queues on an open store."""

    @abstractmethod
    async def define(self, name: str, settings: QueueSettings | None = None, **fields: Any) -> bool:
        """Define a queue, or change its definition; return whether it is new.

        The fields are those of QueueSettings. A missing dead-letter queue is created.
        """

    @abstractmethod
    async def describe(self, name: str) -> Queue:
        """Return the definition of a queue."""

    @abstractmethod
    async def list(
        self, *, limit: int = 50, after: str | None = None, tenant: str | None = None
    ) -> list[Queue]:
        """Return queues by name, optionally after a name; of one tenant or of all."""

    @abstractmethod
    async def delete(self, name: str) -> None:
        """Remove a queue and its messages. Messages owed to other queues are delivered first."""

    @abstractmethod
    async def add_group(self, name: str, group: str, start: Start | None = None) -> bool:
        """Add a group to a FANOUT queue; return whether it is new."""

    @abstractmethod
    async def remove_group(self, name: str, group: str) -> None:
        """Remove a group. Messages that only it had not settled are collected."""

    @abstractmethod
    async def pause(self, name: str, group: str | None = None) -> None:
        """Stop deliveries, to one group or to all, until the queue is resumed."""

    @abstractmethod
    async def resume(self, name: str, group: str | None = None) -> None:
        """Resume deliveries."""

    @abstractmethod
    async def push(self, name: str, payload: bytes, **fields: Any) -> Pushed:
        """Push a message. The fields are those of NewMessage."""

    @abstractmethod
    async def push_many(
        self, name: str, items: Sequence[NewMessage]
    ) -> Sequence[Pushed | HoldfastError]:
        """Push up to 1,000 messages; return an answer or an error for each, in order."""

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
        """Deliver up to `count` messages, waiting up to `wait_ms` for the first.

        Returns no messages when the time is over. Raises ReadCancelled when the engine closes or
        when `stop` returns True; `stop` is called after every wake-up (`wake` causes one).
        """
        read = Read(
            queue=name, consumer=consumer, group=group, count=count, side=side, wait_ms=wait_ms
        )
        return await self._read(read, stop)

    @abstractmethod
    async def _read(self, read: Read, stop: Callable[[], bool]) -> Sequence[Delivery]:
        """Deliver messages."""

    @abstractmethod
    def wake(self, name: str) -> None:
        """Make readers of this process that wait for a queue check it again."""

    @abstractmethod
    async def settle(
        self, name: str, verb: Verb, items: Sequence[Settle]
    ) -> Sequence[Settled | HoldfastError]:
        """Settle up to 1,000 deliveries; return an answer or an error for each, in order."""

    @abstractmethod
    async def ack(self, name: str, handle: str, *effects: Effect) -> Settled:
        """Acknowledge a message for its group; with effects, all or nothing and once per handle."""

    async def nack(
        self, name: str, handle: str, *, delay_ms: int | None = None, reason: str = ""
    ) -> Settled:
        """Return a failed message: it is delivered again later, or becomes a dead letter."""
        item = Settle(handle=handle, delay_ms=delay_ms, reason=reason)
        return await self._settle_one(name, "nack", item)

    async def release(self, name: str, handle: str) -> Settled:
        """Return a message unprocessed. The delivery still counts as an attempt."""
        return await self._settle_one(name, "release", Settle(handle=handle))

    async def reject(self, name: str, handle: str, reason: str = "") -> Settled:
        """Reject a message: it becomes a dead letter now."""
        return await self._settle_one(name, "reject", Settle(handle=handle, reason=reason))

    async def _settle_one(self, name: str, verb: Verb, item: Settle) -> Settled:
        (answer,) = await self.settle(name, verb, [item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    @abstractmethod
    async def extend(
        self, name: str, items: Sequence[tuple[str, int | None]]
    ) -> Sequence[datetime | HoldfastError]:
        """Extend locks from now, by ms or the queue's lock time; return deadlines or errors."""

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
        """Take over idle deliveries of the group; each counts as a delivery."""
        takeover = Takeover(
            queue=name,
            consumer=consumer,
            min_idle_ms=min_idle_ms,
            group=group,
            count=count,
            cursor=cursor,
        )
        return await self._claim(takeover)

    @abstractmethod
    async def _claim(self, takeover: Takeover) -> Claimed:
        """Take over deliveries."""

    @abstractmethod
    async def purge(self, name: str) -> int:
        """Remove all messages, including those in flight. The definition and groups stay."""

    @abstractmethod
    async def move(self, name: str, to: str, limit: int, *, dry_run: bool = False) -> int:
        """Move ready messages to another queue, where their attempts start again at zero.

        They keep the time that is left of their `ttl_ms`.
        """

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
        """Send dead letters back to the queues they came from, or to another queue."""
        redrive = Redrive(
            queue=name,
            to=to,
            wanted=LetterFilter() if wanted is None else wanted,
            limit=limit,
            rate_per_s=rate_per_s,
            dry_run=dry_run,
        )
        return await self._redrive(redrive)

    @abstractmethod
    async def _redrive(self, redrive: Redrive) -> int:
        """Send dead letters back."""

    @abstractmethod
    async def peek(
        self, name: str, *, group: str | None = None, count: int = 1
    ) -> Sequence[Message]:
        """Return the next messages without delivering them."""

    @abstractmethod
    async def pending(
        self, name: str, *, group: str | None = None, limit: int = 50, offset: int = 0
    ) -> Sequence[PendingDelivery]:
        """Return the deliveries in flight, soonest to expire first."""

    @abstractmethod
    async def stats(self, name: str, group: str | None = None) -> QueueStats:
        """Return exact counts of the queue and its groups."""

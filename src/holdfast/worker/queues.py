"""Message queues for apps: typed messages, and deliveries with methods to settle them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from pydantic import ValidationError

from holdfast.api import Engine
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.deliveries import Delivery, Settled
from holdfast.model.effects import Push, Submit
from holdfast.model.messages import Message, NewMessage, Pushed, Side
from holdfast.model.queues import QueueStats
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.encoding import Encoding

M = TypeVar("M")


class MessageFields(TypedDict, total=False):
    """The options of a push; NewMessage describes the fields. Durations are in seconds."""

    id: str | None
    priority: int
    key: str | None
    dedup: str | None
    delay: Duration | None
    ttl: Duration | None
    side: Side


class MessageQueue(Generic[M]):
    """A queue of messages of one type. Make it with `app.queue(name, type)`."""

    def __init__(self, engine: Callable[[], Engine], name: str, model: Any) -> None:
        self._engine = engine
        self.name: str = checks.queue("queue", name)
        self._raw = model is bytes
        self._encoding = Encoding(f"queue {name}", model)

    def __repr__(self) -> str:
        return f"MessageQueue({self.name!r})"

    async def define(self, **settings: Any) -> bool:
        """Define the queue, or change its definition; the settings are those of QueueSettings."""
        return await self._engine().queues.define(self.name, **settings)

    def message(self, value: M, **fields: Unpack[MessageFields]) -> NewMessage:
        """Check and encode a message; raises InvalidInput."""
        given: dict[str, Any] = dict(fields)
        if "delay" in given:
            given["delay_ms"] = optional_ms("delay", given.pop("delay")) or 0
        if "ttl" in given:
            given["ttl_ms"] = optional_ms("ttl", given.pop("ttl"))
        return NewMessage.from_fields({**given, "payload": self._encode(value)})

    def _encode(self, value: M) -> bytes:
        if self._raw:
            return checks.payload("message", value)
        try:
            return self._encoding.encode(value)
        except ValidationError as error:
            raise InvalidInput(f"message: {error}", field="message") from error

    def decode(self, payload: bytes) -> M:
        """Decode a payload; raises InvalidInput."""
        if self._raw:
            return payload  # type: ignore[return-value]
        try:
            value: M = self._encoding.decode(payload)
        except ValidationError as error:
            raise InvalidInput(f"message: {error}", field="message") from error
        return value

    async def push(self, value: M, **fields: Unpack[MessageFields]) -> Pushed:
        """Push a message; when this returns, it is stored durably."""
        (answer,) = await self._engine().queues.push_many(
            self.name, [self.message(value, **fields)]
        )
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    async def push_many(self, values: Iterable[M]) -> Sequence[Pushed | HoldfastError]:
        """Push several messages in order: an answer or an error for each."""
        items = [self.message(value) for value in values]
        answers: list[Pushed | HoldfastError] = []
        for first in range(0, len(items), bounds.BATCH_ITEMS):
            chunk = items[first : first + bounds.BATCH_ITEMS]
            answers += await self._engine().queues.push_many(self.name, chunk)
        return answers

    def pushing(self, value: M, **fields: Unpack[MessageFields]) -> Push:
        """Return an effect that pushes a message, for `ack`."""
        return Push(self.name, self.message(value, **fields))

    async def read(
        self,
        *,
        consumer: str,
        group: str | None = None,
        count: int = 1,
        wait: Duration = 0,
        side: Side = "left",
    ) -> list[Received[M]]:
        """Take up to `count` messages, waiting for the first."""
        engine = self._engine()
        deliveries = await engine.queues.read(
            self.name,
            consumer=consumer,
            group=group,
            count=count,
            side=side,
            wait_ms=optional_ms("wait", wait) or 0,
        )
        return [Received(engine, self, delivery) for delivery in deliveries]

    async def stats(self) -> QueueStats:
        """Return exact counts."""
        return await self._engine().queues.stats(self.name)


class Received(Generic[M]):
    """A message that was handed out, until it is settled or its deadline passes."""

    def __init__(self, engine: Engine, queue: MessageQueue[M], delivery: Delivery) -> None:
        self._queues = engine.queues
        self._queue = queue
        self.handle: str = delivery.handle
        self.message: Message = delivery.message
        self.deadline: datetime = delivery.deadline

    def __repr__(self) -> str:
        return f"Received({self.message.id!r}, attempt={self.message.attempt})"

    @property
    def value(self) -> M:
        """The message, decoded; raises InvalidInput if it is not of the queue's type."""
        return self._queue.decode(self.message.payload)

    async def ack(self, *effects: Push | Submit) -> Settled:
        """Settle the message as done; effects and the ack happen together, once."""
        return await self._queues.ack(self._queue.name, self.handle, *effects)

    async def nack(self, *, delay: Duration | None = None, reason: str = "") -> Settled:
        """Report a failure: the message returns after `delay`, or after the queue's backoff."""
        wait_ms = optional_ms("delay", delay)
        return await self._queues.nack(
            self._queue.name, self.handle, delay_ms=wait_ms, reason=reason
        )

    async def reject(self, reason: str = "") -> Settled:
        """Give the message up: it becomes a dead letter now."""
        return await self._queues.reject(self._queue.name, self.handle, reason)

    async def release(self) -> Settled:
        """Return the message to the queue untouched."""
        return await self._queues.release(self._queue.name, self.handle)

    async def extend(self, lock: Duration | None = None) -> datetime:
        """Keep the message longer, counted from now; returns the new deadline."""
        items = [(self.handle, optional_ms("lock", lock))]
        (answer,) = await self._queues.extend(self._queue.name, items)
        if isinstance(answer, HoldfastError):
            raise answer
        self.deadline = answer
        return answer

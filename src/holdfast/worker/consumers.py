"""Consumers: tasks that run for every message of a queue.

A worker reads messages. For each, it acks the message and submits an execution in one atomic call.
From then on it is an ordinary execution with retries, timeouts, a journal and a history.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.errors import HoldfastError, InvalidInput, ReadCancelled
from holdfast.model import bounds, checks
from holdfast.model.deliveries import Delivery
from holdfast.model.effects import Submit
from holdfast.model.executions import NewExecution
from holdfast.outages import level
from holdfast.worker.patience import pause
from holdfast.worker.task import Task

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)

#: How many executions of a consumer may wait or run before it reads more messages.
DEFAULT_BACKLOG = 1_000
_MOST_AT_ONCE = 50
_WAIT_MS = 30_000
_PAUSE_S = 0.2
_PAUSE_AFTER_ERROR_S = 1.0

_name = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Consumer:
    """A task and where its messages come from."""

    task: Task[Any, Any, Any]
    queue: str
    group: str | None
    backlog: int

    def __post_init__(self) -> None:
        checks.queue("queue", self.queue)
        if self.group is not None:
            checks.name("group", self.group)
        checks.integer("backlog", self.backlog, 1, bounds.QUEUE_SIZE)
        needed = [p for p in self.task.signature.shape.parameters.values() if p.default is p.empty]
        if len(self.task.signature.shape.parameters) == 0 or len(needed) > 1:
            message = f"consumer {self.task.name}: must have one parameter, for the message"
            raise InvalidInput(message, field="consumer")
        if self.task.template.id is not None or self.task.template.idempotency_key is not None:
            message = f"consumer {self.task.name}: each message becomes a separate execution"
            raise InvalidInput(message, field="id")

    def execution(self, delivery: Delivery) -> NewExecution:
        """Return the execution for a message; raises InvalidInput if the task cannot take it."""
        message = delivery.message
        payload = message.payload
        signature = self.task.signature
        if signature.raw_input is None:
            payload = b"{" + _name(next(iter(signature.shape.parameters))) + b":" + payload + b"}"
            signature.decode(payload)
        item = self.task.template.with_input(payload)
        about = {"queue": self.queue, "group": self.group or "default", "message": message.id}
        return replace(item, tags={**item.tags, **about})

    async def hand_over(self, engine: Engine, deliveries: Sequence[Delivery]) -> None:
        """Turn deliveries into executions; reject messages that the task cannot take.

        A check that fails in any other way is a failed attempt.
        """
        await asyncio.gather(*(self._hand_over(engine, delivery) for delivery in deliveries))

    async def _hand_over(self, engine: Engine, delivery: Delivery) -> None:
        try:
            try:
                item = self.execution(delivery)
            except InvalidInput as error:
                reason = " ".join(error.message.split())[: bounds.REASON_CHARS]
                await engine.queues.reject(self.queue, delivery.handle, reason)
            except Exception as error:
                log.warning("message %s cannot be checked", delivery.message.id, exc_info=error)
                # Reasons are not sealed, and the text of the error may be that of the payload.
                reason = f"input: checking it failed with {type(error).__name__}"
                await engine.queues.nack(self.queue, delivery.handle, reason=reason)
            else:
                await engine.queues.ack(self.queue, delivery.handle, Submit(item))
        except HoldfastError as error:
            # Its lock expires, and the message is handed out again.
            log.log(
                level(error), "message %s could not be submitted: %s", delivery.message.id, error
            )


class Pump:
    """Reads messages for one consumer on behalf of one worker."""

    def __init__(self, consumer: Consumer, engine: Engine, instance: str) -> None:
        self._consumer = consumer
        self._engine = engine
        self._instance = instance
        self._room = 0

    async def run(self, draining: asyncio.Event) -> None:
        """Pump until the worker drains."""
        waking = asyncio.ensure_future(self._wake_when(draining))
        subscribed = self._consumer.group is None
        try:
            while not draining.is_set():
                try:
                    if not subscribed:
                        await self._subscribe()
                        subscribed = True
                    await self._turn(draining)
                except ReadCancelled:
                    return
                except HoldfastError as error:
                    log.log(
                        level(error), "reading queue %s failed: %s", self._consumer.queue, error
                    )
                    await pause(draining, _PAUSE_AFTER_ERROR_S)
        finally:
            waking.cancel()

    async def _subscribe(self) -> None:
        """Create the group, which starts at the first message, unless it exists."""
        await self._engine.queues.add_group(self._consumer.queue, self._consumer.group or "")

    async def _turn(self, draining: asyncio.Event) -> None:
        if self._room <= 0:
            self._room = await self._free()
        if self._room <= 0:
            await pause(draining, _PAUSE_S)
            return
        deliveries = await self._engine.queues.read(
            self._consumer.queue,
            group=self._consumer.group,
            consumer=self._instance,
            count=min(_MOST_AT_ONCE, self._room),
            wait_ms=_WAIT_MS,
            stop=draining.is_set,
        )
        self._room -= len(deliveries)
        await self._consumer.hand_over(self._engine, deliveries)

    async def _free(self) -> int:
        """Return how many more executions the consumer may have."""
        kind = self._consumer.task.name
        counts = await self._engine.count()
        unfinished = sum(
            cell.count for cell in counts if cell.kind == kind and not cell.state.is_terminal
        )
        return self._consumer.backlog - unfinished

    async def _wake_when(self, draining: asyncio.Event) -> None:
        await draining.wait()
        self._engine.queues.wake(self._consumer.queue)


async def consume_until(draining: asyncio.Event, app: App, instance: str) -> None:
    """Run the consumers of an app until its worker drains."""
    pumps = [Pump(consumer, app.engine, instance) for consumer in app.consumers]
    await asyncio.gather(*(pump.run(draining) for pump in pumps))

"""Delivers the outboxes of queues: dead letters, moved messages, effects of consumers.

The call that causes an entry also writes it to the outbox. Any process may deliver it, any number
of times: a target queue accepts each entry once, and an execution has an id.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from holdfast.errors import HoldfastError, IdConflict, IdempotencyConflict, QueueNotFound
from holdfast.outages import level
from holdfast.queues.effects import decode_execution
from holdfast.store.queues import BYTES_IN_CALL
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 50
#: The target that stands for executions.
ENGINE = ""


class QueueOutboxes:
    """Delivers the outboxes of queues."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def deliver_if_owed(self, name: str) -> None:
        """Deliver entries that a call has just written. The call itself has succeeded."""
        if self._store.queues.take_unsent(name):
            await self.deliver(name)

    async def deliver(self, name: str) -> int:
        """Deliver the outbox of a queue; returns how many entries are left for later ticks."""
        self._store.queues.take_unsent(name)
        try:
            return await self._deliver(name)
        except HoldfastError as error:
            log.log(
                level(error), "messages in the outbox of queue %s have to wait: %s", name, error
            )
            return 1

    async def _deliver(self, name: str) -> int:
        while True:
            incarnation, owed = await self._store.queues.outbox(name, ENTRIES_AT_ONCE)
            if not owed:
                return 0
            stuck = 0
            for target, first, entries in owed:
                taken = await self._give(name, incarnation, target, first, entries)
                stuck += len(entries) - taken
                if taken:
                    last = first + taken - 1
                    await self._store.queues.sent(name, target, last, incarnation)
            if stuck:
                return stuck

    async def _give(
        self, name: str, incarnation: str, target: str, first: int, entries: list[bytes]
    ) -> int:
        """Deliver entries to a target, in order; returns how many it accepted."""
        taken = 0
        try:
            if target == ENGINE:
                for entry in entries:
                    await self._submit(name, entry)
                    taken += 1
            else:
                for chunk in _chunks(entries):
                    await self._send(name, incarnation, target, first + taken, chunk)
                    taken += len(chunk)
        except (HoldfastError, msgspec.DecodeError) as error:
            place = target or "the engine"
            log.log(level(error), "queue %s cannot deliver to %s: %s", name, place, error)
        return taken

    async def _send(
        self, name: str, incarnation: str, target: str, first: int, entries: list[bytes]
    ) -> None:
        origin = f"{name}|{incarnation}"
        try:
            await self._store.queues.receive(target, origin, first, entries)
        except QueueNotFound:
            settings = (await self._store.queues.describe(name)).settings
            if settings.dead_letter != target:
                raise
            # A dead letter must have a place to go.
            await self._store.queues.accept_dead_letters(target)
            await self._store.queues.receive(target, origin, first, entries)

    async def _submit(self, name: str, entry: bytes) -> None:
        item = decode_execution(self._store.queues, name, entry)
        (answer,) = await self._store.executions.create([item])
        if isinstance(answer, IdConflict | IdempotencyConflict):
            log.warning("an execution that a consumer submitted was refused: %s", answer)
        elif isinstance(answer, HoldfastError):
            raise answer


def _chunks(entries: list[bytes]) -> Iterator[list[bytes]]:
    """Split entries into calls of bounded size."""
    chunk: list[bytes] = []
    size = 0
    for entry in entries:
        if chunk and size + len(entry) > BYTES_IN_CALL:
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += len(entry)
    if chunk:
        yield chunk

"""Calls by many callers, sent together.

A call that finds none under way is sent at the end of the moment, together with all others of that
moment. Those that come while it is under way go together in the next one. So a lone caller waits
for nothing, and the busier a process is, the fewer calls it makes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def _nothing(*_: object) -> int:
    return 0


class Line(Generic[Item, Answer]):
    """Items that wait to be sent to one place."""

    def __init__(
        self,
        send: Callable[[list[Item]], Awaitable[Sequence[Answer]]],
        *,
        most_items: int,
        most_bytes: int = 0,
        size_of: Callable[[Item], int] = _nothing,
        leave: Callable[[], object] = _nothing,
    ) -> None:
        """Bound the items and bytes that are sent at once; `send` returns an answer for each.

        `leave` is called whenever no item is left.
        """
        self._send = send
        self._most_items = most_items
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._leave = leave
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_planned = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, item: Item) -> asyncio.Future[Answer]:
        """Add an item; returns its answer."""
        loop = self._loop = self._loop or asyncio.get_running_loop()
        answer: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((item, answer))
        if not self._is_planned and (not self._under_way or len(self._waiting) >= self._most_items):
            self._is_planned = True
            loop.call_soon(self._send_all)
        return answer

    def _send_all(self) -> None:
        self._is_planned = False
        while self._waiting:
            # A call belongs to none of its callers, so it inherits nothing of theirs.
            task = asyncio.get_running_loop().create_task(
                self._send_together(self._next()), context=Context()
            )
            self._under_way.add(task)
            task.add_done_callback(self._continue)

    def _next(self) -> list[tuple[Item, asyncio.Future[Answer]]]:
        """Take the first items, as many as fit into a call."""
        count = size = 0
        for item, _ in self._waiting[: self._most_items]:
            size += self._size_of(item)
            if count and size > self._most_bytes:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return [(item, answer) for item, answer in taken if not answer.done()]

    async def _send_together(self, items: list[tuple[Item, asyncio.Future[Answer]]]) -> None:
        try:
            replies = await self._send([item for item, _ in items]) if items else []
        except Exception as error:  # noqa: BLE001 - it is the callers'
            for _, answer in items:
                if not answer.done():
                    answer.set_exception(error)
        else:
            for (_, answer), reply in zip(items, replies, strict=True):
                if not answer.done():
                    answer.set_result(reply)
        finally:
            for _, answer in items:
                answer.cancel()

    def _continue(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if self._waiting and not self._is_planned:
            self._send_all()
        elif not self._under_way and not self._waiting:
            self._leave()

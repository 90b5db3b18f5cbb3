"""Calls of one function by many callers, sent together.

A call that finds none under way is sent at the end of the moment, together with all others of that
moment. Those that come while it is under way go together in the next one. So a lone caller waits
for nothing, and the busier a process is, the fewer calls it makes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Any

from holdfast.store import restrictions
from holdfast.store.valkey import library
from holdfast.store.valkey.call import Caller, refusal_of

#: Bounds the time for which one call occupies the server.
MOST_ITEMS = 64
MOST_BYTES = 1024 * 1024

Item = Sequence[str | bytes]
_Waiting = tuple[Item, asyncio.Future[list[Any]]]


def accepted(answer: list[Any]) -> list[Any]:
    """Return the values of an item's answer. Raises the refusal, if it is one."""
    word, *rest = answer
    if word != b"ok":
        raise refusal_of(rest)
    return rest


class Batches:
    """Calls a function that takes items and answers each on its own."""

    def __init__(self, caller: Caller, function: str) -> None:
        self._caller = caller
        self._function = function
        #: By tag and, for calls on behalf of one, by tenant.
        self._lines: dict[tuple[str, str | None], _Line] = {}

    def call(self, tag: str, item: Item) -> asyncio.Future[list[Any]]:
        """Send an item; returns its answer. Of something that tenants own, the id comes first."""
        restriction = restrictions.current()
        tenant = None
        if restriction is not None and item[0] in restriction.ids:
            restriction.checked = True
            tenant = restriction.tenant
        place = (tag, tenant)
        line = self._lines.get(place)
        if line is None:
            line = self._lines[place] = _Line(
                partial(self._send, tag, tenant), partial(self._lines.pop, place)
            )
        return line.add(item)

    async def _send(self, tag: str, tenant: str | None, items: list[Item]) -> list[Any]:
        args = [part for item in items for part in item]
        if tenant is None:
            return await self._caller.write(self._function, tag, *args)
        owned = library.owned_functions()[self._function].name
        return await self._caller.write(owned, tag, *args, tenant)


class _Line:
    """The items that wait for one partition."""

    def __init__(
        self, send: Callable[[list[Item]], Awaitable[list[Any]]], leave: Callable[[], object]
    ) -> None:
        self._send = send
        self._leave = leave
        self._waiting: list[_Waiting] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._is_planned = False

    def add(self, item: Item) -> asyncio.Future[list[Any]]:
        """Add an item; returns its answer."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()
        self._waiting.append((item, answer))
        if not self._is_planned and (not self._under_way or len(self._waiting) >= MOST_ITEMS):
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

    def _next(self) -> list[_Waiting]:
        """Take the first items, as many as fit into a call."""
        count = size = 0
        for item, _ in self._waiting[:MOST_ITEMS]:
            size += sum(map(len, item))
            if count and size > MOST_BYTES:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return [(item, answer) for item, answer in taken if not answer.done()]

    async def _send_together(self, items: list[_Waiting]) -> None:
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

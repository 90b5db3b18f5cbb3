"""Calls of one function by many callers, sent together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.lines import Line
from holdfast.store import restrictions
from holdfast.store.valkey import library
from holdfast.store.valkey.call import Caller, refusal_of

#: Bounds the time for which one call occupies the server.
MOST_ITEMS = 64
MOST_BYTES = 1024 * 1024

Item = Sequence[str | bytes]

_ACCEPTED = [b"ok"]


def accepted(answer: list[Any]) -> list[Any]:
    """Return the values of an item's answer. Raises the refusal, if it is one."""
    if answer[0] != b"ok":
        raise refusal_of(answer[1:])
    return answer[1:]


async def refusals(calls: Iterable[asyncio.Future[list[Any]]]) -> list[HoldfastError | None]:
    """Wait for the answers of items; returns the error of each that was refused or failed."""
    found: list[HoldfastError | None] = []
    for call in calls:
        try:
            accepted(await call)
            found.append(None)
        except HoldfastError as error:
            found.append(error)
    return found


def _size(item: Item) -> int:
    return sum(map(len, item))


class Batches:
    """Calls a function that takes items and answers each on its own."""

    def __init__(self, caller: Caller, function: str) -> None:
        self._caller = caller
        self._function = function
        #: By tag and, for calls on behalf of one, by tenant.
        self._lines: dict[tuple[str, str | None], Line[Item, list[Any]]] = {}

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
            line = self._lines[place] = Line(
                partial(self._send, tag, tenant),
                most_items=MOST_ITEMS,
                most_bytes=MOST_BYTES,
                size_of=_size,
                leave=partial(self._lines.pop, place),
            )
        return line.add(item)

    async def _send(self, tag: str, tenant: str | None, items: list[Item]) -> list[Any]:
        args = [part for item in items for part in item]
        function = self._function
        if tenant is not None:
            function = library.owned_functions()[function].name
            args.append(tenant)
        # A function may answer nothing if it has accepted all.
        return await self._caller.write(function, tag, *args) or [_ACCEPTED] * len(items)

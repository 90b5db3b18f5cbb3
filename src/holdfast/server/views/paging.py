"""Pages of lists that the engine returns as a whole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

from holdfast.errors import InvalidInput
from holdfast.server.views.fields import Cursor, PageLimit, Query

T = TypeVar("T")


class PageQuery(Query):
    """Which part of a list to return."""

    limit: PageLimit = 50
    cursor: Cursor | None = None

    def part(
        self, items: Sequence[T], name: Callable[[T], str] | None = None
    ) -> tuple[Sequence[T], str | None]:
        """Return a page and the cursor of the next page.

        In a list sorted by name, where items come and go, the cursor is the name of the last item.
        In a list that only grows, it is the number of items so far.
        """
        start = self._start(items, name)
        end = start + self.limit
        page = items[start:end]
        if end >= len(items):
            return page, None
        return page, str(end) if name is None else name(page[-1])

    def _start(self, items: Sequence[T], name: Callable[[T], str] | None) -> int:
        if self.cursor is None:
            return 0
        if name is not None:
            return bisect_right(items, self.cursor, key=name)
        if not (self.cursor.isascii() and self.cursor.isdecimal()):
            raise InvalidInput("cursor: does not belong to this list", field="cursor")
        return int(self.cursor)

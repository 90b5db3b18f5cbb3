"""Pages of lists that the engine gives as a whole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypeVar

from holdfast.errors import InvalidInput
from holdfast.server.views.fields import Cursor, PageLimit, Query

T = TypeVar("T")


class PageQuery(Query):
    """Which part of a list."""

    limit: PageLimit = 50
    cursor: Cursor | None = None

    def part(
        self, found: Sequence[T], name: Callable[[T], str] | None = None
    ) -> tuple[Sequence[T], str | None]:
        """Return a page and the cursor of the next.

        The cursor is the name of the last item in a list that is sorted by names, where items come
        and go; else how many there were before, in a list that only grows.
        """
        start = self._start(found, name)
        end = start + self.limit
        page = found[start:end]
        if end >= len(found):
            return page, None
        return page, str(end) if name is None else name(page[-1])

    def _start(self, found: Sequence[T], name: Callable[[T], str] | None) -> int:
        if self.cursor is None:
            return 0
        if name is not None:
            return bisect_right(found, self.cursor, key=name)
        if not (self.cursor.isascii() and self.cursor.isdecimal()):
            raise InvalidInput("cursor: is not one of this list", field="cursor")
        return int(self.cursor)

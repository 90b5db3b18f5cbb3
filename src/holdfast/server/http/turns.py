"""Calls that arrive together start a few at a time.

If all of them started in one turn of the loop, all would ask the store in the same moment, and the
server would do nothing until it answers, and the store nothing until the next ones come. Started in
several turns, the first are at work in the store while the server reads the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

#: Calls that start in one turn of the loop.
AT_ONCE = 8


class Turns:
    """The calls of a server that are about to start."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_planned = False

    def start(self, begin: Callable[[], object]) -> None:
        """Start a call in the next turn that has room for it."""
        self._waiting.append(begin)
        if not self._is_planned:
            self._plan()

    def _plan(self) -> None:
        self._is_planned = True
        asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        self._is_planned = False
        for _ in range(min(AT_ONCE, len(self._waiting))):
            self._waiting.popleft()()
        if self._waiting:
            self._plan()

"""Calls take turns: a few start at a time, and no caller has more at work than its share.

If all calls that arrive together started in one turn of the loop, all would ask the store in the
same moment, and the server would do nothing until it answers, and the store nothing until the next
ones come. Started in several turns, the first are at work in the store while the server reads the
others.

A call is answered after those that are at work already. So a caller that sends very many would slow
down all others as much as itself. While there are others, it may have only some at work; the rest
wait in its own line. A call that waits for something else, or takes long, is not at work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

#: The part of a scope that has the turn of a call.
TURN = "holdfast.turn"
#: Calls that start in one turn of the loop.
AT_ONCE = 8
#: Calls of one caller that are at work at a time, while there are other callers.
SHARE = 8
#: How long a caller counts after its last call.
PRESENT_S = 1.0
#: A call that takes longer does not count as one at work.
BRIEF_S = 0.1


def _begun() -> None:
    """Stand for a call that has begun: its turn must not keep it, because it keeps its turn."""


class Turn:
    """A call that is started when it is its turn."""

    __slots__ = ("_turns", "begin", "caller", "is_over", "started_at")

    def __init__(self, turns: Turns, caller: object, begin: Callable[[], object]) -> None:
        self._turns = turns
        self.caller = caller
        self.begin = begin
        self.started_at = 0.0
        self.is_over = False

    def end(self) -> None:
        """Make room for another call: this one has ended, or waits from now on. Safe to repeat."""
        self.is_over = True
        self._turns.ended(self)


class Turns:
    """The calls of a server that are about to start, and those at work."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        #: The calls of each caller, in the order in which callers are next.
        self._lines: dict[object, deque[Turn]] = {}
        #: The calls of callers that have their share at work.
        self._held: dict[object, deque[Turn]] = {}
        #: The calls at work of each caller, the oldest first; only those that began beside others.
        self._working: dict[object, dict[Turn, None]] = {}
        self._is_planned = False
        #: The last caller, and until when it is not the only one.
        self._last: object = None
        self._shared_until = 0.0

    def start(self, caller: object, begin: Callable[[], object]) -> Turn:
        """Start a call in the next turn that has room for it."""
        turn = Turn(self, caller, begin)
        if caller != self._last:
            if self._last is not None:
                self._shared_until = self._loop.time() + PRESENT_S
            self._last = caller
        line = self._lines.get(caller) or self._held.get(caller)
        if line:
            line.append(turn)
        else:
            self._lines[caller] = deque((turn,))
        self._plan()
        return turn

    def ended(self, turn: Turn) -> None:
        """Forget a call that was at work."""
        working = self._working.get(turn.caller)
        if working is None or turn not in working:
            return
        del working[turn]
        if not working:
            del self._working[turn.caller]
        self._release(turn.caller)

    def _plan(self) -> None:
        if not self._is_planned and self._lines:
            self._is_planned = True
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._is_planned = False
        now = self._loop.time()
        is_shared = now < self._shared_until
        for _ in range(AT_ONCE):
            if not self._lines:
                return
            caller, line = next(iter(self._lines.items()))
            if is_shared and self._has_its_share(caller, now):
                self._held[caller] = self._lines.pop(caller)
                self._loop.call_later(BRIEF_S, self._release, caller)
                continue
            turn = line.popleft()
            if not line:
                del self._lines[caller]
            elif len(self._lines) > 1:
                self._lines[caller] = self._lines.pop(caller)
            if is_shared and not turn.is_over:
                turn.started_at = now
                self._working.setdefault(caller, {})[turn] = None
            begin, turn.begin = turn.begin, _begun
            begin()
        self._plan()

    def _has_its_share(self, caller: object, now: float) -> bool:
        working = self._working.get(caller, {})
        while len(working) >= SHARE:
            oldest = next(iter(working))
            if now - oldest.started_at < BRIEF_S:
                return True
            del working[oldest]
        return False

    def _release(self, caller: object) -> None:
        """Let a caller start calls again."""
        line = self._held.pop(caller, None)
        if line is not None:
            self._lines[caller] = line
            self._plan()

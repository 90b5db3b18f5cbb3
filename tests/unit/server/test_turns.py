"""Turns of calls: who starts when."""

from __future__ import annotations

import asyncio
import weakref
from functools import partial

import pytest

from holdfast.server.http import turns
from holdfast.server.http.turns import AT_ONCE, SHARE, Turn, Turns
from holdfast.testing.polling import wait_for


class Calls:
    """Calls that note when they start."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.started: list[str] = []
        self._sent: dict[str, list[Turn]] = {}

    def send(self, caller: str, count: int = 1) -> None:
        """Send calls of a caller."""
        for _ in range(count):
            turn = self.turns.start(caller, partial(self.started.append, caller))
            self._sent.setdefault(caller, []).append(turn)

    def end(self, caller: str) -> None:
        """End the oldest call of a caller; twice is as good as once."""
        turn = self._sent[caller].pop(0)
        turn.end()
        turn.end()

    async def settle(self) -> None:
        """Let everything start that can."""
        for _ in range(100):
            await asyncio.sleep(0)


async def test_a_few_calls_start_in_one_turn_of_the_loop() -> None:
    """The others start in the next ones."""
    calls = Calls()
    calls.send("a", 3 * AT_ONCE)
    await asyncio.sleep(0)
    assert len(calls.started) == AT_ONCE
    await calls.settle()
    assert len(calls.started) == 3 * AT_ONCE


async def test_callers_alternate() -> None:
    """A call waits for one of each other caller, not for all of them."""
    calls = Calls()
    calls.send("a", 20)
    calls.send("b", 2)
    calls.send("c")
    await asyncio.sleep(0)
    assert calls.started[:5] == ["a", "b", "c", "a", "b"]


async def test_a_caller_alone_has_no_bound() -> None:
    """What nobody else needs is not kept back."""
    calls = Calls()
    calls.send("a", 4 * SHARE)
    await calls.settle()
    assert len(calls.started) == 4 * SHARE


async def test_beside_others_a_caller_has_a_share_at_work() -> None:
    """The rest waits in its own line until calls of this caller end."""
    calls = Calls()
    calls.send("b")
    calls.send("a", 2 * SHARE)
    await calls.settle()
    assert calls.started.count("a") == SHARE
    calls.send("c")
    await calls.settle()
    assert calls.started[-1] == "c"
    calls.end("b")
    await calls.settle()
    assert calls.started.count("a") == SHARE
    for _ in range(SHARE):
        calls.end("a")
    await calls.settle()
    assert calls.started.count("a") == 2 * SHARE


async def test_calls_that_take_long_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller whose calls are all slow is not held up by them."""
    monkeypatch.setattr(turns, "BRIEF_S", 0.01)
    calls = Calls()
    calls.send("b")
    calls.send("a", 2 * SHARE)

    async def all_started() -> bool:
        return calls.started.count("a") == 2 * SHARE

    await wait_for(all_started)


async def test_a_call_that_is_over_before_it_begins_does_not_count() -> None:
    """As when its connection is lost."""
    calls = Calls()
    calls.send("b")
    calls.send("a", SHARE)
    for _ in range(SHARE):
        calls.end("a")
    calls.send("a", SHARE)
    await calls.settle()
    assert calls.started.count("a") == 2 * SHARE


async def test_a_turn_does_not_keep_a_call_that_has_begun() -> None:
    """A call keeps its turn; both would be left to the search for garbage."""
    turns = Turns()

    def begin() -> None:
        pass

    call = weakref.ref(begin)
    turn = turns.start("a", begin)
    del begin
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert call() is None
    turn.end()

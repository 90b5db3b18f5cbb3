"""Conversations under test: say lines, expect lines, and crash at every line."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import EllipsisType
from typing import Any

import msgspec

from holdfast.model.ids import new_id
from holdfast.model.moments import to_ms
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, Delivered, Entry, Session
from holdfast.model.states import State
from holdfast.model.waitpoints import NewSignal, Source, WaitpointState
from holdfast.testing.answers import personal_token
from holdfast.testing.app import TestApp
from holdfast.testing.servers import TestServer
from holdfast.testing.stores import TestStore
from holdfast.testing.watching import Write
from holdfast.worker.app import App
from holdfast.worker.conversation import Conversation
from holdfast.worker.parking import DEFAULT_KEPT

#: The text of a reply, a pattern that it contains, or `...` for any reply.
Expected = str | re.Pattern[str] | EllipsisType

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a transcript, as far as crashes must not change it."""

    who: str
    payload: Any
    #: The number of the message that a reply answers.
    turn: int | None

    def __str__(self) -> str:
        text = self.payload.get("text") if isinstance(self.payload, dict) else None
        return f"{self.who}: {text if text is not None else self.payload}"


class Talk:
    """A user who talks with a conversation. Make it with `conversation`."""

    def __init__(self, test: TestApp, kind: Conversation[Any, Any, Any], key: SessionKey) -> None:
        self.test = test
        self._kind = kind
        self.key = key
        #: The number of the last line that was expected.
        self._seen = 0

    async def say(
        self, text: str = "", *, payload: dict[str, Any] | None = None, key: str | None = None
    ) -> Delivered:
        """Send a message, and run its turn to the end; a key that was sent is not sent again."""
        delivered = await self.send(text, payload=payload, key=key)
        await self.run()
        return delivered

    async def send(
        self, text: str = "", *, payload: dict[str, Any] | None = None, key: str | None = None
    ) -> Delivered:
        """Send a message; nothing runs yet."""
        parts = dict(payload or {})
        if text:
            parts["text"] = text
        activity = Activity(key=self.key, payload=msgspec.json.encode(parts), id=key or new_id())
        return await self.test.engine.sessions.deliver(self._kind.name, activity)

    async def press(self, value: str) -> Delivered:
        """Press a button of the last reply that has it."""
        for entry in reversed(await self.entries()):
            if any(button["value"] == value for button in entry.value.get("buttons", ())):
                return await self.say(payload={"choice": value, "reply": entry.number})
        raise AssertionError(await self._told(f"no reply has a button {value!r}"))

    async def expect(self, *lines: Expected) -> None:
        """Check that the replies since the last call are these, in order."""
        replies = [e for e in await self.entries(after=self._seen) if e.direction == "out"]
        texts = [reply.text for reply in replies]
        is_same = len(texts) == len(lines)
        if not is_same or not all(map(_fits, lines, texts)):
            wanted = [line.pattern if isinstance(line, re.Pattern) else line for line in lines]
            raise AssertionError(await self._told(f"expected {wanted}, got {texts}"))
        self._seen = max((reply.number for reply in replies), default=self._seen)

    async def advance(self, **span: float) -> None:
        """Let time pass, such as `advance(days=2)`, and run what becomes due."""
        await self.test.clock.advance(timedelta(**span) // timedelta(milliseconds=1))
        await self.run()

    async def approve(self, name: str = "approval", *, by: str = "", payload: Any = None) -> None:
        """Approve what the conversation waits for, as a person."""
        await self._signal(name, "approve", by, payload)

    async def deny(self, name: str = "approval", *, by: str = "", payload: Any = None) -> None:
        """Deny what the conversation waits for, as a person."""
        await self._signal(name, "deny", by, payload)

    async def _signal(self, name: str, signal: str, by: str, payload: Any) -> None:
        session = await self.session()
        waitpoints = self.test.engine.waitpoints
        points = [] if session.execution is None else await waitpoints.of(session.execution)
        for point in points:
            if point.name == name and point.state is WaitpointState.OPEN:
                await waitpoints.signal(
                    NewSignal(
                        waitpoint=point.id,
                        name=signal,
                        payload=msgspec.json.encode(payload),
                        source=Source(type="user" if by else "", identity=by),
                    ),
                    await personal_token(self.test.engine, point, by),
                )
                return await self.run()
        raise AssertionError(await self._told(f"the conversation does not wait at {name!r}"))

    async def run(self) -> None:
        """Run what is ready; the work of a killed worker goes on after its lease."""
        while True:
            await self.test.run_until_idle(advance=False)
            session = await self.session()
            if session.execution is None or session.execution_state is not State.ACTIVE:
                return
            execution = await self.test.engine.describe(session.execution)
            expires_at = execution.lease_expires_at
            if expires_at is None or execution.id in self.test.held:
                return
            await self.test.clock.advance(to_ms(expires_at) - self.test.clock.now_ms)

    async def session(self) -> Session:
        """Return what is known of the session."""
        return await self.test.engine.sessions.get(self.key.id)

    async def entries(self, after: int = 0) -> list[Entry]:
        """Return the transcript after a number."""
        page = await self.test.engine.sessions.transcript(self.key.id, after=after, limit=_PAGE)
        return list(page.entries)

    async def transcript(self) -> list[Line]:
        """Return what was said so far."""
        return [
            Line("user" if one.direction == "in" else "bot", one.value, one.turn)
            for one in await self.entries()
            if one.direction != "note"
        ]

    async def _told(self, problem: str) -> str:
        lines = "".join(f"\n  {line}" for line in await self.transcript())
        return f"{problem}. So far:{lines}"


def _fits(line: Expected, text: str) -> bool:
    if isinstance(line, EllipsisType):
        return True
    return text == line if isinstance(line, str) else line.search(text) is not None


@contextlib.asynccontextmanager
async def conversation(
    app: App,
    kind: Conversation[Any, Any, Any],
    *,
    user: str = "user",
    store: TestStore | None = None,
    server: TestServer | None = None,
    test: TestApp | None = None,
    kept: int = DEFAULT_KEPT,
) -> AsyncIterator[Talk]:
    """Talk with a conversation on an empty store, whose time the test moves.

    Args:
        app: the app.
        kind: one of its conversations.
        user: who talks.
        store: an open, empty store of this event loop, such as the fixture `holdfast_store`.
        server: a server on which a store is opened; absent means one of its own.
        test: where the app is attached already.
        kept: how many conversations are kept while they wait; 0: all run from their journals.
    """
    async with contextlib.AsyncExitStack() as stack:
        if test is None:
            test = await stack.enter_async_context(
                TestApp(app, store=store, server=server, kept=kept)
            )
        await test.engine.tasks.publish({kind.name: kind.describe()})
        key = SessionKey(conversation="test", user=user, endpoint=kind.name)
        yield Talk(test, kind, key)


class TalkMatters(AssertionError):
    """A crash changed what was said."""


async def crash_every_line(
    app: App,
    kind: Conversation[Any, Any, Any],
    script: Callable[[Talk], Awaitable[object]],
    *,
    store: TestStore | None = None,
    server: TestServer | None = None,
    kept: int = DEFAULT_KEPT,
) -> list[Line]:
    """Run a script once undisturbed, then once with the worker killed after each of its writes.

    Returns the transcript. Raises TalkMatters if a crash changes it, or repeats a step.
    """
    async with TestApp(app, store=store, server=server, kept=kept) as test:
        wanted, writes = await _scripted(test, kind, script, None)
        for number in range(1, len(writes) + 1):
            killer = _Killer(number)
            lines, again = await _scripted(test, kind, script, killer)
            place = f"killed after {killer.killed_after} ({number} of {len(writes)})"
            if lines != wanted:
                said = "\n  ".join(str(line) for line in lines)
                raise TalkMatters(f"{kind.name}, {place}, says something else:\n  {said}")
            if repeated := _steps(again) - _steps(writes):
                names = ", ".join(write.name for write in repeated)
                raise TalkMatters(f"{kind.name}, {place}, repeats a step: {names}")
        return wanted


def _steps(writes: Sequence[Write]) -> Counter[Write]:
    return Counter(write for write in writes if write.what == "step")


class _Killer:
    """Kills after the write of a number, counted from 1."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.killed_after: Write | None = None

    def __call__(self, write: Write) -> bool:
        self._left -= 1
        if self._left == 0:
            self.killed_after = write
        return self._left == 0


async def _scripted(
    test: TestApp,
    kind: Conversation[Any, Any, Any],
    script: Callable[[Talk], Awaitable[object]],
    killer: _Killer | None,
) -> tuple[list[Line], list[Write]]:
    """Run a script on an empty store; returns what was said and what was written."""
    async with test.fresh() as fresh, conversation(test.app, kind, test=fresh) as talk:
        if killer is not None:
            fresh.kill_when(killer)
        await script(talk)
        return await talk.transcript(), list(fresh.store.watch.writes)

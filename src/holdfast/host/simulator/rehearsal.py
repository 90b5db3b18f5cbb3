"""A conversation run again in memory: first as its journal has it, then as somebody says.

Nothing is written, and nobody is called: recorded steps answer, and fakes where none is recorded.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from typing_extensions import override

from holdfast.host.flows.pens import Pen
from holdfast.host.flows.progress import FlowState
from holdfast.host.flows.runners import NodeFailed
from holdfast.host.flows.stages import Approving, Place, Talking, decision, parts_of
from holdfast.host.flows.watching import Watcher
from holdfast.host.simulator.fakes import Answer, Call, Fakes
from holdfast.host.simulator.recording import said
from holdfast.host.simulator.script import (
    Action,
    Advance,
    Decide,
    Failure,
    Fake,
    Say,
    Status,
    Target,
)
from holdfast.model.executions import Step
from holdfast.model.sessions import messages_of
from holdfast.worker.budget import Reserved
from holdfast.worker.messages import ChatMessage, merged, reply_payload
from holdfast.worker.outcomes import WaitTimedOut
from holdfast.worker.session_state import state_of
from holdfast.worker.waiting import is_timeout, signals_of

#: What a reply says whose writer failed before the first word.
_NO_WORDS = "..."


class Paused(Exception):
    """The conversation waits, and nothing more is said."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Misfit(Exception):
    """The script does not fit what the conversation does."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A node that ran."""

    flow: str
    node: str


@dataclass(slots=True, kw_only=True)
class Happening:
    """Something that happened: a message, a reply, a decision, or time that passed."""

    #: As a step of a test, such as `say`; None: a reply.
    act: dict[str, Any] | None
    payload: Mapping[str, Any]
    #: Its lines in the transcript; none if it did not happen but is rehearsed.
    lines: tuple[int, ...] = ()
    #: Where the conversation was, and its variables, before anything else happened.
    at: Visit | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)
    #: How many nodes had run.
    visits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is recorded of a conversation, up to a line of its transcript."""

    place: Place
    steps: Mapping[str, Step]
    #: The message that started it; None: it continued with a state.
    opening: ChatMessage | None
    #: The last line that counts, and when it was written.
    line: int
    until: datetime
    #: The state of the session now, by name.
    values: Mapping[str, Any]


class Rehearsal(Talking, Watcher):
    """One conversation on a stage of its own."""

    def __init__(
        self, past: Past, script: Iterable[Action] = (), fakes: Sequence[Fake] = ()
    ) -> None:
        self._past = past
        self._opening = past.opening
        self._script = deque(script)
        self._given = tuple(fakes)
        self._fakes = Fakes(fakes)
        self._counts: Counter[str] = Counter()
        self._now = past.until
        self._state = FlowState(frames=[], vars={})
        #: The answer of the recorded step that is being passed.
        self._recorded: Answer | None = None
        #: Whether the conversation has left what is recorded.
        self._is_new = False
        self.visits: list[Visit] = []
        self.happened: list[Happening] = []
        #: What was called, and the recorded answers.
        self.calls: list[tuple[Call, Answer]] = []

    @property
    @override
    def place(self) -> Place:
        return self._past.place

    # What happens

    @override
    def began(self, state: FlowState) -> None:
        self._state = state

    @override
    def entered(self, execution: str, flow: str, node: str) -> None:
        self.visits.append(Visit(flow, node))

    @override
    def left(self, flow: str, node: str, way: str) -> None:
        pass

    def _happen(
        self, act: dict[str, Any] | None, payload: Mapping[str, Any], lines: tuple[int, ...] = ()
    ) -> None:
        self.settle()
        self.happened.append(Happening(act=act, payload=payload, lines=lines, at=self._here()))

    def settle(self, *, waits: bool = False) -> None:
        """Keep what came of the last happening, before the next."""
        if self.happened:
            last = self.happened[-1]
            last.vars, last.visits = dict(self._state.vars), len(self.visits)
            last.at = self._here() if waits or last.act is not None else last.at

    def _here(self) -> Visit | None:
        frames = self._state.frames
        return Visit(frames[-1].flow, frames[-1].node) if frames else None

    # The journal

    def _step(self, name: str) -> Step | None:
        return None if self._is_new else self._past.steps.get(name)

    def _next(self, kind: str) -> Step | None:
        """Return the next recorded step of a kind that the conversation numbers."""
        self._counts[kind] += 1
        return self._step(f"{kind}:{self._counts[kind]}")

    def _leave(self) -> None:
        """Go on without the journal; what was called before answers the same calls."""
        if not self._is_new:
            self._is_new = True
            known = {str(call): _as_fake(call, answer) for call, answer in self.calls}
            self._fakes = Fakes([*self._given, *known.values()])

    @property
    def unfaked(self) -> Sequence[Call]:
        """Calls that nothing answered."""
        return self._fakes.unknown

    async def ask(self, call: Call) -> Answer | None:
        """Answer a call from the journal, or with a fake."""
        if self._recorded is None:
            return await self._fakes.ask(call)
        self.calls.append((call, self._recorded))
        return self._recorded

    @override
    def key(self, step: str) -> str:
        return f"{self.place.execution}:{step}"

    @override
    async def step(self, name: str, make: Callable[[], Awaitable[Any]]) -> Any:
        recorded = self._step(name)
        if recorded is None:
            self._leave()
            return await make()
        found = msgspec.json.decode(recorded.result)
        if isinstance(found, Mapping) and ("ok" in found or "error" in found):
            await self._pass(make, found)
        return found

    async def _pass(self, make: Callable[[], Awaitable[Any]], outcome: Mapping[str, Any]) -> None:
        """Find out what a recorded step called, so that a test can fake it."""
        known, error = len(self.calls), outcome.get("error") or {}
        self._recorded = Answer(
            value=outcome.get("ok"),
            code=error.get("code", ""),
            message=error.get("message", ""),
            retryable=bool(error.get("retryable")),
        )
        visits = len(self.visits)
        try:
            await make()
        finally:
            self._recorded = None
            del self.visits[visits:]
        if len(self.calls) != known + 1:
            # Several calls in one step: the journal has only what became of them.
            del self.calls[known:]

    @override
    async def gather(self, steps: list[Awaitable[Any]]) -> list[Any]:
        return [await step for step in steps]

    # Talking

    @override
    async def say(self, activity: Mapping[str, Any]) -> None:
        payload: dict[str, Any] = msgspec.json.decode(
            reply_payload(**{"text": "", **parts_of(activity)})
        )
        recorded = self._next("say")
        self._happen(None, payload, () if recorded is None else (int(recorded.result),))

    @override
    async def receive(self, timeout_ms: int | None) -> ChatMessage:
        self.settle(waits=True)
        message, self._opening = self._opening, None
        if message is None:
            recorded = self._next("receive")
            if recorded is not None:
                message = merged(messages_of(recorded.result))
                if message is None and recorded.at <= self._past.until:
                    raise self._timed_out(timeout_ms)
        if message is None or message.number > self._past.line:
            self._leave()
            return self._said(timeout_ms)
        self._happen(
            said(message.payload), message.payload, tuple(one.number for one in message.parts)
        )
        return message

    def _said(self, timeout_ms: int | None) -> ChatMessage:
        """Return the next message of the script."""
        for action in self._acts(timeout_ms, Status.WAITING):
            if isinstance(action, Decide):
                raise Misfit(f"nobody is asked for the approval `{action.node}`")
            payload = self._payload(action)
            self._happen(said(payload), payload)
            kind = "message" if action.event is None else "event"
            number = len(self.happened)
            return ChatMessage(number, self._now, f"rehearsed-{number}", kind, payload)
        raise AssertionError

    def _acts(self, timeout_ms: int | None, status: Status) -> Iterable[Say | Decide]:
        """Yield what is said and decided; raises Paused at the end, and WaitTimedOut."""
        passed = 0
        while self._script:
            action = self._script.popleft()
            if isinstance(action, Advance):
                passed += action.ms
                self._now += timedelta(milliseconds=action.ms)
                if timeout_ms is not None and passed >= timeout_ms:
                    raise self._timed_out(timeout_ms)
            elif isinstance(action, Say | Decide):
                yield action
            else:
                raise Misfit("a rehearsal takes say, click, form, event, approve, deny and advance")
        raise Paused(status)

    def _payload(self, action: Say) -> Mapping[str, Any]:
        if action.event is not None:
            return action.event
        if action.text is not None:
            return {"text": action.text}
        if action.click is None:
            return {"data": action.form}
        for one in reversed(self.happened):
            for button in one.payload.get("buttons") or ():
                if one.act is None and action.click in (button["value"], button["label"]):
                    return {"text": button["label"], "choice": button["value"]}
        raise Misfit(f"no reply has a button `{action.click}`")

    def _timed_out(self, timeout_ms: int | None) -> WaitTimedOut:
        self._happen({"advance": f"{timeout_ms or 1}ms"}, {})
        return WaitTimedOut("nobody answered in time")

    @override
    async def decide(self, asked: Approving) -> dict[str, Any]:
        self.settle(waits=True)
        recorded = self._next(f"wait:{asked.name}")
        if recorded is None or recorded.at > self._past.until:
            self._leave()
            return self._decided(asked)
        came = signals_of(recorded.result)
        if is_timeout(came):
            raise self._timed_out(asked.timeout_ms)
        found = decision(came)
        self._happen(decided(asked.name, found), {})
        return found

    def _decided(self, asked: Approving) -> dict[str, Any]:
        people: list[str] = []
        for action in self._acts(asked.timeout_ms, Status.APPROVAL):
            if isinstance(action, Say):
                # It stays until the conversation waits for a message.
                self._script.append(action)
                if all(isinstance(one, Say) for one in self._script):
                    raise Paused(Status.APPROVAL)
                continue
            if action.node != asked.name:
                raise Misfit(f"nobody is asked for the approval `{action.node}`")
            people.append(action.by)
            if action.approves and len(people) < asked.need:
                continue
            first, *others = people if action.approves else [action.by]
            found = {"approved": action.approves, "by": first, "data": action.data, "also": others}
            self._happen(decided(asked.name, found), {})
            return found
        raise AssertionError

    @override
    async def sleep(self, ms: int) -> None:
        if self._next("sleep") is None:
            self._now += timedelta(milliseconds=ms)

    @override
    async def now(self, step: str) -> datetime:
        recorded = self._step(step)
        return (
            self._now
            if recorded is None
            else datetime.fromisoformat(msgspec.json.decode(recorded.result))
        )

    @override
    async def state(self, name: str) -> Any:
        recorded = self._next("state")
        return self._past.values.get(name) if recorded is None else state_of(recorded.result).value

    @override
    async def welcomes(self, *, done: bool = False) -> bool:
        recorded = self._next("welcome")
        return False if recorded is None else bool(msgspec.json.decode(recorded.result))

    @override
    def clock(self) -> datetime:
        return self._now

    @override
    def pen(self, node: str, *, reply: bool) -> contextlib.AbstractAsyncContextManager[Pen]:
        return self._writing(reply=reply)

    @contextlib.asynccontextmanager
    async def _writing(self, *, reply: bool) -> AsyncIterator[Pen]:
        pen = _Paper()
        try:
            yield pen
        except NodeFailed:
            # A reply that was begun stays as far as it came.
            if reply:
                await self.say({"text": pen.text or _NO_WORDS})
            raise
        if reply:
            await self.say({"text": pen.text or _NO_WORDS})

    @override
    @contextlib.asynccontextmanager
    async def reserve(
        self, amounts: Mapping[str, int], budget: str | None, ttl_ms: int
    ) -> AsyncIterator[Reserved]:
        yield Reserved(dict(amounts))


class _Paper:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    async def write(self, text: str) -> None:
        """Append to the text."""
        self.text += text

    async def restart(self) -> None:
        """Begin again."""
        self.text = ""


def decided(node: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step of a test that decides."""
    step: dict[str, Any] = {"approve" if found["approved"] else "deny": node}
    if found["by"]:
        step["by"] = found["by"]
    if found["data"] is not None:
        step["data"] = found["data"]
    return step


def _as_fake(call: Call, answer: Answer) -> Fake:
    target = Target(kind=call.kind, name=call.name, given=call.input)
    if answer.code:
        failure = Failure(code=answer.code, message=answer.message, retryable=answer.retryable)
        return Fake(target=target, fails=failure)
    return Fake(target=target, returns=answer.value)

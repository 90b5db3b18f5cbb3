"""Plays a test: says its lines, and compares what comes with what it expects."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holdfast.errors import HoldfastError
from holdfast.host.simulator.fakes import Fakes, contains
from holdfast.host.simulator.script import (
    Action,
    Add,
    Advance,
    Called,
    Decide,
    Expect,
    HasState,
    IsStatus,
    Line,
    Result,
    Run,
    Say,
    Step,
    Test,
)
from holdfast.host.simulator.world import Job, Subject, Talk, World, open_approvals
from holdfast.model.ids import new_id
from holdfast.model.session_keys import SessionKey
from holdfast.model.sessions import Activity, Entry
from holdfast.model.waitpoints import NewSignal, Source
from holdfast.worker.conversation import Conversation
from holdfast.worker.task import Task

_PAGE = 1_000
#: Who reads the tokens of approvals.
_READER = "pack test"


class Mismatch(Exception):
    """A test did not get what it expects."""

    def __init__(self, message: str, step: Step | None = None) -> None:
        super().__init__(message)
        self.step = step


class Player:
    """Plays one test in a world."""

    def __init__(self, world: World, flow: Task[Any, Any, Any], test: Test, fakes: Fakes) -> None:
        self._world = world
        self._engine = world.engine
        self._flow = flow
        self._test = test
        self._fakes = fakes
        #: Makes the sessions of this run its own.
        self._endpoint = f"test-{new_id()}"
        self._subjects: dict[str, Subject] = {}
        self._seen: dict[str, int] = {}
        self._job = ""

    async def play(self) -> None:
        """Play all steps; raises Mismatch. Then end what is still under way."""
        try:
            for step in self._test.steps:
                try:
                    await self._act(step.action)
                except Mismatch as mismatch:
                    raise Mismatch(str(mismatch), step) from None
                except (HoldfastError, TimeoutError) as error:
                    raise Mismatch(str(error) or "the flow does not answer", step) from error
            await self._check_rest()
        finally:
            await self._end()

    async def _act(self, action: Action) -> None:  # noqa: C901 - one case for each action
        if isinstance(action, Say):
            await self._say(action)
        elif isinstance(action, Run):
            await self._run(action)
        elif isinstance(action, Expect):
            await self._expect(action)
        elif isinstance(action, Advance):
            await self._world.advance(action.ms)
            await self._settle()
        elif isinstance(action, Decide):
            await self._decide(action)
        elif isinstance(action, Add):
            self._fakes.add(action.fakes)
        elif isinstance(action, Called):
            self._check_called(action)
        elif isinstance(action, Result):
            await self._check_result(action)
        elif isinstance(action, IsStatus):
            status = await self._subject(action.user).status(self._engine)
            if status is not action.status:
                raise Mismatch(compared([action.status.value], [str(status or "running")]))
        else:
            await self._check_state(action)

    # Acting

    def key(self, user: str) -> SessionKey:
        """Return the key of a user's session."""
        return SessionKey(conversation="main", user=user, endpoint=self._endpoint)

    async def _say(self, action: Say) -> None:
        if not isinstance(self._flow, Conversation):
            raise Mismatch("the flow has no conversation; start it with `run`")
        payload: Mapping[str, Any] = {"text": action.text}
        if action.click is not None:
            payload = await self._pressed(action.user, action.click)
        elif action.event is not None:
            payload = action.event
        elif action.text is None:
            payload = {"data": action.form}
        activity = Activity(
            key=self.key(action.user),
            payload=msgspec.json.encode(payload),
            kind="message" if action.event is None else "event",
        )
        delivered = await self._engine.sessions.deliver(self._flow.name, activity)
        self._subjects[action.user] = Talk(delivered.session)
        await self._settle()

    async def _pressed(self, user: str, value: str) -> dict[str, Any]:
        """Return the message of a button of the last reply that has it."""
        for entry in reversed(await self._entries(user)):
            for button in entry.value.get("buttons") or ():
                if value in (button["value"], button["label"]):
                    return {
                        "text": button["label"],
                        "choice": button["value"],
                        "reply": entry.number,
                    }
        raise Mismatch(f"no reply has a button `{value}`")

    async def _run(self, action: Run) -> None:
        if isinstance(self._flow, Conversation):
            raise Mismatch("the flow is a conversation; start it with `say`")
        payload = self._flow.encode_input((), {"input": action.given})
        submitted = await self._engine.submit(self._flow.name, input=payload)
        self._job = submitted.id
        self._subjects[""] = Job(submitted.id)
        await self._settle()

    async def _decide(self, action: Decide) -> None:
        execution = await self._subject(action.user).execution(self._engine)
        for point in await open_approvals(self._engine, execution):
            if point.name != action.node:
                continue
            # As the holder of the link does.
            person = action.by if point.personal else ""
            token = await self._engine.waitpoints.token(point.id, reader=_READER, person=person)
            signal = NewSignal(
                waitpoint=point.id,
                name="approve" if action.approves else "deny",
                payload=msgspec.json.encode(action.data),
                source=Source(type="user" if action.by else "", identity=action.by),
            )
            await self._engine.waitpoints.signal(signal, token.reveal())
            await self._settle()
            return
        raise Mismatch(f"nobody is asked for the approval `{action.node}`")

    async def _settle(self) -> None:
        """Let all flows of the test run as far as they come."""
        for subject in self._subjects.values():
            await self._world.settle(subject)
        for call in self._fakes.unknown:
            raise Mismatch(f"no fake answers {call}")

    async def _end(self) -> None:
        """End flows that still wait, so that they do nothing in the tests that follow."""
        for subject in self._subjects.values():
            if isinstance(subject, Talk):
                await self._engine.sessions.end(subject.session, reason="the test has ended")
            elif await self._engine.outcome(self._job) is None:
                await self._engine.cancel(self._job, "the test has ended")

    # Comparing

    def _subject(self, user: str) -> Subject:
        subject = self._subjects.get(user) or self._subjects.get("")
        if subject is None:
            raise Mismatch(f"{user} has said nothing yet")
        return subject

    async def _entries(self, user: str, after: int = 0) -> Sequence[Entry]:
        subject = self._subject(user)
        if not isinstance(subject, Talk):
            return ()
        page = await self._engine.sessions.transcript(subject.session, after=after, limit=_PAGE)
        return page.entries

    async def replies(self, user: str) -> list[dict[str, Any]]:
        """Return the replies that no step has expected yet."""
        if self._job:
            outcome = await self._engine.outcome(self._job)
            result = outcome.result if outcome is not None else None
            said = [] if result is None else msgspec.json.decode(result)["replies"]
            return list(said[self._seen.get("", 0) :])
        entries = await self._entries(user, self._seen.get(user, 0))
        return [entry.value for entry in entries if entry.direction == "out"]

    async def _expect(self, action: Expect) -> None:
        replies = await self.replies(action.user)
        if len(replies) != len(action.lines) or not all(map(fits, action.lines, replies)):
            wanted = [
                shown_reply(reply) if fits(line, reply) else shown_line(line)
                for line, reply in zip(action.lines, replies, strict=False)
            ]
            wanted += [shown_line(line) for line in action.lines[len(replies) :]]
            raise Mismatch(compared(wanted, [shown_reply(reply) for reply in replies]))
        await self._see(action.user, len(replies))

    async def _see(self, user: str, count: int) -> None:
        if self._job:
            self._seen[""] = self._seen.get("", 0) + count
        elif entries := await self._entries(user):
            self._seen[user] = entries[-1].number

    async def _check_rest(self) -> None:
        for user in self._subjects:
            if rest := await self.replies(user):
                said = "\n".join(f"+ {shown_reply(reply)}" for reply in rest)
                raise Mismatch(f"replies that the test does not expect:\n{said}")

    def _check_called(self, action: Called) -> None:
        count = self._fakes.count(action.target)
        if count != action.times:
            calls = "".join(f"\n  {call}" for call in self._fakes.calls) or " none"
            wanted = f"expected {action.times} of {action.target}, got {count}"
            raise Mismatch(f"{wanted}; the calls were:{calls}")

    async def _check_result(self, action: Result) -> None:
        execution = await self._subject(action.user).execution(self._engine)
        outcome = await self._engine.outcome(execution)
        if outcome is None:
            raise Mismatch("the flow has not ended")
        if outcome.result is None:
            error = outcome.error or {}
            raise Mismatch(f"the flow failed: {error.get('message') or outcome.reason}")
        result = msgspec.json.decode(outcome.result)
        if self._job:
            result = result["result"]
        if not (result == action.value and contains(result, action.value)):
            raise Mismatch(compared(pretty(action.value), pretty(result)))

    async def _check_state(self, action: HasState) -> None:
        subject = self._subject(action.user)
        if not isinstance(subject, Talk):
            raise Mismatch("a flow without a conversation has no state")
        values = {
            name: msgspec.json.decode(value.value)
            for name, value in await self._engine.sessions.state(subject.session)
            if value.value is not None
        }
        found = {name: values.get(name) for name in action.values}
        if found != action.values:
            raise Mismatch(compared(pretty(action.values), pretty(found)))


def fits(line: Line, reply: Mapping[str, Any]) -> bool:
    """Whether a reply is one that is expected."""
    text = str(reply.get("text", ""))
    return (
        (line.text is None or text == line.text)
        and (line.contains is None or line.contains in text)
        and (line.matches is None or line.matches.search(text) is not None)
        and all(_has_part(reply, name, part) for name, part in line.parts.items())
    )


def _has_part(reply: Mapping[str, Any], name: str, part: Any) -> bool:
    value = reply.get(name)
    if name == "buttons" and isinstance(part, list) and isinstance(value, list):
        # A button is meant by its label, its value, or both.
        return len(part) == len(value) and all(
            contains(button, wanted)
            if isinstance(wanted, Mapping)
            else wanted in (button["label"], button["value"])
            for wanted, button in zip(part, value, strict=True)
        )
    return contains(value, part)


def shown_line(line: Line) -> str:
    """Return an expected reply for a person."""
    words = [line.text] if line.text is not None else []
    words += [f"(contains {line.contains})"] if line.contains is not None else []
    words += [f"(matches {line.matches.pattern})"] if line.matches is not None else []
    words += [f"[{name}] {_json(part)}" for name, part in line.parts.items()]
    return " ".join(words)


def shown_reply(reply: Mapping[str, Any]) -> str:
    """Return a reply for a person."""
    words = [str(reply["text"])] if "text" in reply else []
    words += [
        f"[{name}] {_json(reply[name])}" for name in ("buttons", "card", "data") if reply.get(name)
    ]
    return " ".join(words)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def pretty(value: Any) -> list[str]:
    """Return a value as lines."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted")).decode().split("\n")


def compared(wanted: list[str], got: list[str]) -> str:
    """Return the differences: `-` expected and missing, `+` not expected."""
    lines = difflib.ndiff(
        [part for line in wanted for part in line.split("\n")],
        [part for line in got for part in line.split("\n")],
    )
    shown = [line.rstrip("\n") for line in lines]
    return "\n".join(shown) if any(not line.startswith(" ") for line in shown) else "nothing came"

"""Writes a test from a conversation that took place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

import yaml

from holdfast.api import Engine
from holdfast.errors import SessionNotFound
from holdfast.host.flows.runners import Runners
from holdfast.host.simulator.fakes import Answer, Call, watched
from holdfast.model.sessions import Entry
from holdfast.model.waitpoints import Signal

_PAGE = 1_000
_DECISIONS = frozenset({"approve", "deny"})


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided at an approval."""

    node: str
    signal: Signal


class Recorder:
    """Notes what components, models and others answer, and writes it as fakes."""

    def __init__(self) -> None:
        #: What was called, and the answers.
        self.calls: list[tuple[Call, Answer]] = []

    def runners(self, real: Runners) -> Runners:
        """Return runners that note what the real ones answer."""
        return watched(real, lambda call, answer: self.calls.append((call, answer)))

    async def script(self, engine: Engine, session: str, *, name: str, flow: str) -> str:
        """Return the test file of a session."""
        try:
            page = await engine.sessions.transcript(session, limit=_PAGE)
        except SessionNotFound:
            return as_file(name, flow, "user", [], [])
        decisions = await _decisions(engine, page.entries)
        steps = steps_of(page.entries, decisions)
        return as_file(name, flow, page.session.key.user, fakes_of(self.calls), steps)


async def _decisions(engine: Engine, entries: Sequence[Entry]) -> list[Decision]:
    found = []
    for execution in dict.fromkeys(one.execution for one in entries if one.execution):
        points = {point.id: point.name for point in await engine.waitpoints.of(execution)}
        found += [
            Decision(points[signal.waitpoint], signal)
            for signal in await engine.waitpoints.signals(execution)
            if signal.waitpoint in points and signal.name in _DECISIONS
        ]
    return found


def fakes_of(calls: Sequence[tuple[Call, Answer]]) -> list[dict[str, Any]]:
    """Return fakes that answer calls again as they were answered, in the same order."""
    by_input: dict[str, list[tuple[Call, Answer]]] = {}
    for call, answer in calls:
        by_input.setdefault(str(call), []).append((call, answer))
    fakes = []
    for group in by_input.values():
        runs = [(key, list(run)) for key, run in groupby(group, key=lambda one: one[1])]
        for number, (answer, run) in enumerate(runs, 1):
            fake = _fake(run[0][0], answer)
            # The last answer stays; those before it are given as often as they were.
            fakes.append(fake if number == len(runs) else {**fake, "times": len(run)})
    return fakes


def _fake(call: Call, answer: Answer) -> dict[str, Any]:
    fake: dict[str, Any] = {call.kind.value: call.name}
    if call.input:
        fake["with"] = call.input
    if not answer.code:
        return {**fake, "returns": answer.value}
    failure: dict[str, Any] = {"code": answer.code, "message": answer.message or answer.code}
    return {**fake, "fails": {**failure, **({"retryable": True} if answer.retryable else {})}}


@dataclass(slots=True)
class Steps:
    """Steps as they become known; replies are collected until something else happens."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)

    def act(self, step: dict[str, Any]) -> None:
        """Add a step of a user or a person."""
        self.finish()
        self.steps.append(step)

    def finish(self) -> None:
        """Expect the replies that came."""
        if self.replies:
            lines = self.replies if len(self.replies) > 1 else self.replies[0]
            self.steps.append({"expect": lines})
        self.replies = []


def steps_of(entries: Sequence[Entry], decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return the steps of a test: what was said and decided, and what was answered."""
    events: list[tuple[datetime, Entry | Decision]] = [(one.at, one) for one in entries]
    events += [(one.signal.at, one) for one in decisions]
    found = Steps()
    # Replies can have the time of the decision that they follow. Lines keep their order.
    for _, event in sorted(events, key=lambda one: (one[0], isinstance(one[1], Entry))):
        if isinstance(event, Decision):
            found.act(_decided(event))
        elif event.direction == "in":
            found.act(said(event.value))
        elif event.author is None:
            found.replies.append(expected(event.value))
    found.finish()
    return found.steps


def _decided(decision: Decision) -> dict[str, Any]:
    signal = decision.signal
    step: dict[str, Any] = {signal.name: decision.node}
    if signal.source.identity:
        step["by"] = signal.source.identity
    if signal.value is not None:
        step["data"] = signal.value
    return step


def said(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the step that says a message."""
    if "choice" in value:
        return {"click": str(value["choice"])}
    if isinstance(value.get("text"), str) and value["text"]:
        return {"say": value["text"]}
    return (
        {"form": value["data"]} if isinstance(value.get("data"), dict) else {"event": dict(value)}
    )


def expected(reply: Mapping[str, Any]) -> Any:
    """Return how a test expects a reply."""
    parts = {name: reply[name] for name in ("text", "card", "data") if reply.get(name) is not None}
    if buttons := reply.get("buttons"):
        parts["buttons"] = [button["value"] for button in buttons]
    return parts["text"] if list(parts) == ["text"] else parts


def as_file(
    name: str, flow: str, user: str, fakes: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> str:
    """Return the text of a test file."""
    content: dict[str, Any] = {"flow": flow, "user": user}
    if fakes:
        content["fake"] = fakes
    content["tests"] = {name: steps}
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    return text

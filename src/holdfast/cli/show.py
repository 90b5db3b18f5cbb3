"""`holdfast show`: everything about an execution on one screen."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.cli import archived, history, timeline
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.failures import one_line, printable
from holdfast.cli.terminal.options import ExecutionId, JsonOption, StoreOption
from holdfast.model.executions import Attempt, Execution, Step
from holdfast.model.moments import from_ms
from holdfast.model.session_keys import session_of
from holdfast.model.states import State
from holdfast.operate import picture
from holdfast.operate.picture import Picture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.api import Engine

#: Longer payloads are truncated; `--json` prints them in full.
_PAYLOAD_CHARS = 300
_STEP_CHARS = 80
#: Only the last events are printed; `holdfast history` prints all of them.
_EVENTS = 20
#: Outcomes of attempts that failed.
_FAILED = ("failed", "timed_out")


def show(
    execution_id: ExecutionId,
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an execution: state, attempts, steps, history, and what it waits for."""
    shown = opening.ask(store, lambda engine: take(engine, execution_id))
    if as_json:
        output.emit(as_value(shown))
    else:
        _print(shown)


async def take(engine: Engine, execution_id: str) -> Picture:
    """Read everything about an execution, from the store or from its archive."""
    return await archived.either(
        engine,
        execution_id,
        lambda known_id: picture.take(engine, known_id),
        picture.from_archive,
    )


def as_value(shown: Picture) -> dict[str, object]:
    """Return the picture as a JSON value."""
    outcome = shown.outcome
    return {
        "execution": shown.execution,
        "state_vector": shown.execution.state_vector,
        "explanation": {"why": shown.explanation.why, "holds": shown.explanation.holds},
        "input": output.payload(shown.input),
        "result": output.payload(outcome.result, outcome.content_type) if outcome else None,
        "attempts": shown.attempts,
        "steps": [
            {"name": step.name, "at": step.at, "result": output.payload(step.result)}
            for step in shown.steps
        ],
        "history": shown.history,
        "children": [
            {"id": child.id, "kind": child.kind, "state": child.state}
            for child in shown.children.items
        ],
        "archived": shown.archived,
    }


def _print(shown: Picture) -> None:
    execution = shown.execution
    for name, value in _facts(shown):
        output.say(f"{name:<12}{value}")
    if trace := _traceback(execution):
        output.say("\nTraceback")
        for line in trace:
            output.say(printable(line))
    if shown.attempts:
        output.say("\nAttempts")
        columns = ("#", "kind", "worker", "start", "length", "outcome", "since its creation")
        rows = timeline.rows(shown.timeline())
        output.show_table(columns, rows, nothing="")
    if shown.steps:
        output.say("\nSteps")
        steps = [(step.name, times.stamp(step.at), _result_of(step)) for step in shown.steps]
        output.show_table(("step", "recorded", "result"), steps, nothing="")
    if shown.children.items:
        output.say("\nChildren")
        children = [
            (child.id, child.kind, child.state, times.stamp(child.created_at))
            for child in reversed(shown.children.items)
        ]
        output.show_table(("child", "kind", "state", "created"), children, nothing="")
        if shown.children.next_cursor is not None:
            output.say(f"... more: holdfast ls --parent {execution.id}")
    output.say("\nHistory")
    if len(shown.history) > _EVENTS:
        output.say(f"... {len(shown.history) - _EVENTS} earlier: holdfast history {execution.id}")
    for event in shown.history[-_EVENTS:]:
        output.say(history.line(event))


def _facts(shown: Picture) -> Iterator[tuple[str, str]]:
    """Return the facts about this execution, by name."""
    execution, outcome = shown.execution, shown.outcome
    yield "execution", execution.id
    yield "kind", f"{execution.kind}   lane {execution.lane}   tenant {execution.tenant}"
    ended = execution.state.is_terminal
    if shown.archived:
        yield "where", "in the archive"
    yield "state", execution.state if ended else f"{execution.state}. {shown.explanation.why}"
    if execution.progress_pct is not None and execution.state is not State.COMPLETED:
        message = one_line(execution.progress_message or "")
        yield "progress", f"{execution.progress_pct:g} % {message}".rstrip()
    yield "created", f"{times.stamp(execution.created_at)} ({times.ago(execution.created_at)})"
    for name, moment in _moments(execution):
        if moment is not None:
            yield name, f"{times.stamp(moment)} ({times.ago(moment)})"
    yield from _relations(execution)
    yield "tries", _tries(execution, shown.attempts)
    yield from _wishes(execution)
    yield "input", _short(shown.input, _PAYLOAD_CHARS)
    if outcome is not None and outcome.result is not None:
        yield "result", _short(outcome.result, _PAYLOAD_CHARS)
    if execution.unread:
        yield "signals", f"{execution.unread:,} not received"
    if execution.error:
        error = execution.error
        yield "error", one_line(f"{error.get('type')}: {error.get('message')}")
    if execution.reason:
        yield "reason", one_line(execution.reason)


def _relations(execution: Execution) -> Iterator[tuple[str, str]]:
    """Return what it belongs to."""
    if (session := session_of(execution.id)) is not None:
        yield "session", f"{session}: holdfast sessions show {session}"
    if execution.parent:
        fate = f"   when it ends: {execution.on_parent_end}" if execution.on_parent_end else ""
        yield "parent", f"{execution.parent}{fate}"
    if execution.graph:
        yield "graph", execution.graph


def _traceback(execution: Execution) -> list[str]:
    """Return the lines of the traceback of a failed task, without its heading."""
    details = (execution.error or {}).get("details")
    trace = details.get("traceback") if isinstance(details, dict) else None
    lines = trace.splitlines() if isinstance(trace, str) else []
    return lines[1:] if lines and lines[0].startswith("Traceback ") else lines


def _wishes(execution: Execution) -> Iterator[tuple[str, str]]:
    """Return the settings that the submitter chose."""
    if execution.priority:
        yield "priority", str(execution.priority)
    if execution.requires:
        yield "requires", ", ".join(execution.requires)
    if execution.budgets:
        yield "budgets", ", ".join(execution.budgets)
    if execution.quotas:
        yield "quotas", ", ".join(execution.quotas)
    if execution.tags:
        yield "tags", " ".join(f"{name}={value}" for name, value in execution.tags.items())
    if execution.idempotency_key:
        yield "key", execution.idempotency_key


def _moments(execution: Execution) -> Iterator[tuple[str, datetime | None]]:
    yield "started", execution.started_at
    yield "ended", execution.completed_at
    yield "runs", execution.run_at
    yield "lease ends", execution.lease_expires_at
    yield "times out", execution.timeout_at
    yield "deadline", execution.deadline_at
    yield "kept until", execution.forget_at


def _tries(execution: Execution, attempts: Sequence[Attempt]) -> str:
    """Return the number of attempts and failures, over all replays."""
    failed = sum(attempt.outcome in _FAILED for attempt in attempts)
    parts = [
        output.count(execution.attempts, "attempt"),
        f"{max(failed, execution.failures)} failed",
    ]
    if execution.reclaims:
        parts.append(f"{execution.reclaims} lost to {_workers(execution.reclaims)}")
    if execution.replays:
        parts.append("replayed once" if execution.replays == 1 else f"{execution.replays} replays")
    return ", ".join(parts)


def _workers(number: int) -> str:
    return "a worker that died" if number == 1 else "workers that died"


def _result_of(step: Step) -> str:
    """Return the result of a step: of a sleep its end, of a wait the answers."""
    kind = step.name.partition("#")[0].partition(":")[0]
    try:
        if kind == "sleep":
            return f"until {times.stamp(from_ms(int(step.result)))}"
        if kind == "wait":
            return ", ".join(map(_answer, msgspec.json.decode(step.result))) or "no answer"
    except (ValueError, TypeError, KeyError, msgspec.DecodeError):
        pass
    return _short(step.result, _STEP_CHARS)


def _answer(signal: Mapping[str, Any]) -> str:
    """Return a signal of the journal in words."""
    payload = (
        "" if signal["payload"] is None else f" {msgspec.json.encode(signal['payload']).decode()}"
    )
    by = f" by {signal['identity']}" if signal.get("identity") else ""
    text = one_line(f"{signal['name']}{by}{payload}")
    return text if len(text) <= _STEP_CHARS else f"{text[:_STEP_CHARS]}..."


def _short(data: bytes, most: int) -> str:
    try:
        text = one_line(data.decode())
    except UnicodeDecodeError:
        return f"{len(data)} bytes"
    return text if len(text) <= most else f"{text[:most]}... ({len(data)} bytes)"

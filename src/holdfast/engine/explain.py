"""Why an execution is not running: one plain sentence, and the holds behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from holdfast.engine.limit_holds import describe_limit
from holdfast.model import conditions, names
from holdfast.model.budgets import Budget
from holdfast.model.executions import Execution
from holdfast.model.explanations import Explanation
from holdfast.model.moments import span, to_ms
from holdfast.model.partitions import ROOT_SEPARATOR
from holdfast.model.quotas import Quota
from holdfast.model.sessions import Session
from holdfast.model.states import Hold, State
from holdfast.model.waitpoints import WaitpointState
from holdfast.model.workers import Worker
from holdfast.store.queries import Standing
from holdfast.store.waitpoints import Awaited

_SHOWN_UPSTREAMS = 5
_SUGGESTIONS = 3

_DELAYS = {
    Hold.DELAY: "It was submitted to start later",
    Hold.BACKOFF: "Its last attempt failed and it will be tried again",
    Hold.RECLAIM: "It lost its worker repeatedly and will be tried again",
    Hold.PAUSE: "It asked to go on later",
    Hold.DEBOUNCE: "A later submission with its key may still replace it",
}


#: Why a conversation is suspended: for the next message, or while a person answers.
CONVERSING = (Hold.MESSAGE, Hold.PERSON)

#: What follows when no answer comes in time.
_ON_TIMEOUT = {
    "resume": "WaitTimedOut",
    "fail": "it fails",
    "cancel": "it is cancelled",
    "expire": "it expires",
    "escalate": "an operator must decide",
}


def explain(
    standing: Standing,
    workers: Sequence[Worker],
    *,
    wait: Awaited | None = None,
    session: Session | None = None,
    limit: Budget | Quota | None = None,
    tasks: Iterable[str] = (),
) -> Explanation:
    """Put the facts into words; `tasks` are the names that its tenant may have meant."""
    state = standing.execution.state
    if state.is_terminal:
        return Explanation(state=state, why=f"It has ended: {state}.")
    if state is State.SUSPENDED and session is not None:
        return _conversing(standing, session)
    if state is State.SUSPENDED and wait is not None:
        return _suspended(standing, wait)
    if state is State.RATE_LIMITED:
        why, hold = describe_limit(standing.execution, limit)
        return Explanation(state=state, why=why, holds=[hold])
    tell = {
        State.ACTIVE: _running,
        State.DELAYED: _delayed,
        State.WAITING_CHILDREN: _dependent,
    }.get(state)
    return tell(standing) if tell else _waiting(standing, workers, tasks)


def _running(standing: Standing) -> Explanation:
    execution = standing.execution
    hold = {
        "type": "lease",
        "worker": execution.worker,
        "expires_at": execution.lease_expires_at,
    }
    attempt = execution.attempts
    expired = execution.lease_expires_at and execution.lease_expires_at <= standing.now
    if expired:
        why = f"Its worker {execution.worker} has stopped renewing; it is about to be reclaimed."
    else:
        why = f"It is running: attempt #{attempt}, on worker {execution.worker}."
    return Explanation(state=execution.state, why=why, holds=[hold])


def _delayed(standing: Standing) -> Explanation:
    execution = standing.execution
    hold = execution.hold or Hold.DELAY
    if hold is Hold.SCHEDULE:
        return _lined_up(execution)
    holds: list[Mapping[str, Any]] = [
        {"type": "due_time", "reason": hold, "until": execution.run_at}
    ]
    when = execution.run_at.isoformat(timespec="milliseconds") if execution.run_at else ""
    why = f"{_DELAYS[hold]}: at {when}."
    if standing.lane_setting == "paused":
        holds.append({"type": "lane_paused", "id": execution.lane})
    return Explanation(state=execution.state, why=why, holds=holds)


def _suspended(standing: Standing, wait: Awaited) -> Explanation:
    execution = standing.execution
    holds: list[Mapping[str, Any]] = [
        {
            "type": "waitpoint",
            "id": point.id,
            "name": point.name,
            "since": point.created_at,
            "until": point.until,
            "answerers": point.answerers,
        }
        for point in wait.points
        if point.state is WaitpointState.OPEN
    ]
    who = {point.name: point.answerers for point in wait.points}
    missing = conditions.missing(wait.condition, wait.seen, to_ms(standing.now), who)
    why = f"It waits for {missing or 'an operator'}"
    if execution.hold is Hold.ESCALATED:
        why += "; no answer came in time, so an operator must decide"
    elif execution.wait_until is not None:
        left = max((execution.wait_until - standing.now).total_seconds(), 0)
        why += f"; {span(left)} left, then {_ON_TIMEOUT[execution.on_timeout or 'fail']}"
    return Explanation(state=execution.state, why=f"{why}.", holds=holds)


def _conversing(standing: Standing, session: Session) -> Explanation:
    execution, user = standing.execution, session.key.user
    since = (
        ""
        if session.since is None
        else f" since {session.since.isoformat(timespec='milliseconds')}"
    )
    hold = {"type": "message", "id": session.id, "user": user, "since": session.since}
    why = f"It waits for a message from user {user}{since}"
    if session.person is not None:
        hold = {"type": "person", "id": session.id, "person": session.person}
        why = f"{session.person} answers user {user}; it continues when the session is given back"
    if execution.wait_until is not None:
        left = max((execution.wait_until - standing.now).total_seconds(), 0)
        why += f"; {span(left)} left"
    return Explanation(state=execution.state, why=f"{why}.", holds=[hold])


def _dependent(standing: Standing) -> Explanation:
    graph, awaited = standing.execution.graph, standing.awaited
    holds: list[Mapping[str, Any]] = [
        {"type": "member", "id": f"{graph}~{key}", "state": awaited[key]} for key in awaited
    ]
    if awaited:
        why = f"It waits for {_listed(awaited)} of graph {graph}."
    else:
        holds = [{"type": "graph", "id": graph}]
        why = f"It is about to be started by graph {graph}."
    return Explanation(state=standing.execution.state, why=why, holds=holds)


def _listed(awaited: Mapping[str, State]) -> str:
    noun = "member" if len(awaited) == 1 else "members"
    shown = [f"{key} ({state})" for key, state in list(awaited.items())[:_SHOWN_UPSTREAMS]]
    rest = len(awaited) - len(shown)
    more = f" and {rest} more" if rest else ""
    return f"{noun} {', '.join(shown)}{more}"


def _lined_up(execution: Execution) -> Explanation:
    schedule, _, _ = names.parse_id(execution.id)[1].partition(ROOT_SEPARATOR)
    why = f"Schedule {schedule} starts it when its earlier executions have ended."
    return Explanation(state=execution.state, why=why, holds=[{"type": "schedule", "id": schedule}])


def _waiting(standing: Standing, workers: Sequence[Worker], tasks: Iterable[str]) -> Explanation:
    execution = standing.execution
    if execution.hold is Hold.GRANT:
        why = "It is being claimed: its budgets and quotas are asked."
        return Explanation(state=execution.state, why=why, holds=[{"type": "admission"}])
    holds: list[Mapping[str, Any]] = []
    reasons: list[str] = []
    if standing.lane_setting == "paused":
        holds.append({"type": "lane_paused", "id": execution.lane})
        reasons.append(f"lane {execution.lane} is paused")
    missing = _missing_worker(execution, workers, tasks)
    ahead = _ahead(standing, workers)
    if missing is not None:
        hold, reason = missing
        holds.append(hold)
        reasons.append(reason)
    elif ahead:
        holds.append({"type": "queue", "id": execution.lane, "ahead": ahead})
        count = "1 execution" if ahead == 1 else f"{ahead} executions"
        verb = "is" if ahead == 1 else "are"
        reasons.append(f"{count} of tenant {execution.tenant} {verb} ahead of it")
    elif not reasons:
        holds.append({"type": "queue", "id": execution.lane, "ahead": 0})
        reasons.append(f"it is next of tenant {execution.tenant} on lane {execution.lane}")
    why = f"It waits for a worker: {', and '.join(reasons)}"
    return Explanation(
        state=execution.state, why=why if why.endswith("?") else f"{why}.", holds=holds
    )


def _ahead(standing: Standing, workers: Sequence[Worker]) -> int:
    """Count what goes before it at the workers that have its task."""
    execution = standing.execution
    its = [one for one in _serving(execution, workers) if one.has(execution.kind)]
    ahead = (standing.ahead or {}).items()
    return sum(count for kind, count in ahead if any(one.has(kind) for one in its))


def lacks_task(standing: Standing, workers: Sequence[Worker]) -> bool:
    """Whether it waits on a lane where workers are, none of which has its task."""
    execution = standing.execution
    on_lane = _serving(execution, workers)
    waits = execution.state is State.WAITING
    return waits and bool(on_lane) and not any(one.has(execution.kind) for one in on_lane)


def _serving(execution: Execution, workers: Sequence[Worker]) -> list[Worker]:
    return [one for one in workers if one.serves(execution.lane, execution.tenant)]


def _missing_worker(
    execution: Execution, workers: Sequence[Worker], tasks: Iterable[str]
) -> tuple[Mapping[str, Any], str] | None:
    """Say why no single live worker can take it; None if one can."""
    lane, kind, requires = execution.lane, execution.kind, execution.requires
    on_lane = _serving(execution, workers)
    if not on_lane:
        return {"type": "no_worker", "id": lane}, f"no live worker serves lane {lane}"
    capable = [one for one in on_lane if one.has(kind)]
    if not capable:
        return _missing_task(execution, workers, tasks)
    if any(one.can(requires) for one in capable):
        return None
    offered = {name for one in capable for name in one.capabilities}
    absent = [name for name in requires if name not in offered]
    hold = {"type": "no_capable_worker", "requires": requires, "missing": absent}
    if absent:
        listed = ", ".join(absent)
        return hold, f"no live worker on lane {lane} has the capability {listed}"
    return hold, f"no live worker on lane {lane} has all of {', '.join(requires)}"


def _missing_task(
    execution: Execution, workers: Sequence[Worker], tasks: Iterable[str]
) -> tuple[Mapping[str, Any], str]:
    """Say that no worker on its lane has its task: a wrong name, a wrong lane, or not there yet."""
    lane, kind = execution.lane, execution.kind
    hold = {"type": "no_worker", "id": lane, "lane": lane, "kind": kind, "suggestions": []}
    ours = [one for one in workers if one.tenant in {None, execution.tenant} and one.kinds]
    elsewhere = sorted({name for one in ours if one.has(kind) for name in one.lanes})
    if elsewhere:
        where = f"{'lane' if len(elsewhere) == 1 else 'lanes'} {', '.join(elsewhere)}"
        return hold, f"no live worker on lane {lane} has the task `{kind}`, but one on {where} has"
    known = {*tasks, *(name for one in ours for name in one.kinds or ())} - {kind}
    # Of use here only, and not free to import.
    import difflib  # noqa: PLC0415

    hold["suggestions"] = difflib.get_close_matches(kind, sorted(known), _SUGGESTIONS)
    why = f"no live worker has the task `{kind}`"
    if hold["suggestions"]:
        why += f"; did you mean {' or '.join(f'`{name}`' for name in hold['suggestions'])}?"
    return hold, why

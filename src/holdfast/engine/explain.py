"""Why an execution is not running: one plain sentence, and the holds behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.engine.blocked import describe_limit
from holdfast.model import conditions
from holdfast.model.budgets import Budget
from holdfast.model.executions import Execution
from holdfast.model.moments import span, to_ms
from holdfast.model.partitions import ROOT_SEPARATOR
from holdfast.model.quotas import Quota
from holdfast.model.states import Hold, State
from holdfast.model.waitpoints import WaitpointState
from holdfast.model.workers import Worker
from holdfast.store.queries import Standing
from holdfast.store.waitpoints import Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an execution is where it is."""

    state: State
    #: One plain sentence.
    why: str
    #: What holds it: `type` and facts of each. Empty when it has ended.
    holds: Sequence[Mapping[str, Any]] = field(default_factory=list)


_SHOWN_UPSTREAMS = 5

_DELAYS = {
    Hold.DELAY: "It was submitted to start later",
    Hold.BACKOFF: "Its last attempt failed and it will be tried again",
    Hold.RECLAIM: "It lost its worker repeatedly and will be tried again",
    Hold.PAUSE: "It asked to go on later",
    Hold.DEBOUNCE: "A later submission with its key may still replace it",
}


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
    wait: Wait | None = None,
    limit: Budget | Quota | None = None,
) -> Explanation:
    """Put the facts into words."""
    state = standing.execution.state
    if state.is_terminal:
        return Explanation(state=state, why=f"It has ended: {state}.")
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
    return tell(standing) if tell else _waiting(standing, workers)


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


def _suspended(standing: Standing, wait: Wait) -> Explanation:
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
    schedule, _, _ = execution.id.partition(ROOT_SEPARATOR)
    why = f"Schedule {schedule} starts it when its earlier executions have ended."
    return Explanation(state=execution.state, why=why, holds=[{"type": "schedule", "id": schedule}])


def _waiting(standing: Standing, workers: Sequence[Worker]) -> Explanation:
    execution = standing.execution
    if execution.hold is Hold.GRANT:
        why = "It is being claimed: its budgets and quotas are asked."
        return Explanation(state=execution.state, why=why, holds=[{"type": "admission"}])
    holds: list[Mapping[str, Any]] = []
    reasons: list[str] = []
    if standing.lane_setting == "paused":
        holds.append({"type": "lane_paused", "id": execution.lane})
        reasons.append(f"lane {execution.lane} is paused")
    missing = _missing_worker(standing, workers)
    if missing is not None:
        hold, reason = missing
        holds.append(hold)
        reasons.append(reason)
    elif standing.ahead:
        holds.append({"type": "queue", "id": execution.lane, "ahead": standing.ahead})
        count = "1 execution" if standing.ahead == 1 else f"{standing.ahead} executions"
        verb = "is" if standing.ahead == 1 else "are"
        reasons.append(f"{count} of tenant {execution.tenant} {verb} ahead of it")
    elif not reasons:
        holds.append({"type": "queue", "id": execution.lane, "ahead": 0})
        reasons.append(f"it is next of tenant {execution.tenant} on lane {execution.lane}")
    return Explanation(
        state=execution.state,
        why=f"It waits for a worker: {', and '.join(reasons)}.",
        holds=holds,
    )


def _missing_worker(
    standing: Standing, workers: Sequence[Worker]
) -> tuple[Mapping[str, Any], str] | None:
    """Say why no single live worker can take it; None if one can."""
    lane, requires = standing.execution.lane, standing.execution.requires
    if any(worker.serves(lane, requires) for worker in workers):
        return None
    on_lane = [worker for worker in workers if worker.serves(lane, ())]
    if not on_lane:
        return {"type": "no_worker", "id": lane}, f"no live worker serves lane {lane}"
    offered = {name for worker in on_lane for name in worker.capabilities}
    absent = [name for name in requires if name not in offered]
    hold = {"type": "no_capable_worker", "requires": requires, "missing": absent}
    if absent:
        listed = ", ".join(absent)
        return hold, f"no live worker on lane {lane} has the capability {listed}"
    return hold, f"no live worker on lane {lane} has all of {', '.join(requires)}"

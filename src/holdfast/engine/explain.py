"""Why an execution is not running: one plain sentence, and the holds behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.engine.limit_holds import describe_limit
from holdfast.model import conditions, names
from holdfast.model.bonds import describe_bonds
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
from holdfast.store.queries import ExplainFacts
from holdfast.store.waitpoints import Awaited

_SHOWN_UPSTREAMS = 5
_SUGGESTIONS = 3

_DELAYS = {
    Hold.DELAY: "It was submitted to start later",
    Hold.BACKOFF: "Its last attempt failed and it will be tried again",
    Hold.RECLAIM: "It lost its worker repeatedly and will be tried again",
    Hold.PAUSE: "It asked to continue later",
    Hold.DEBOUNCE: "A later submission with its key may still replace it",
}


#: Why a conversation is suspended: for the next message, or while a person answers.
CONVERSING = (Hold.MESSAGE, Hold.PERSON)

#: What happens when no answer comes in time.
_ON_TIMEOUT = {
    "resume": "WaitTimedOut",
    "fail": "it fails",
    "cancel": "it is cancelled",
    "expire": "it expires",
    "escalate": "an operator must decide",
}


def explain(
    facts: ExplainFacts,
    workers: Sequence[Worker],
    *,
    wait: Awaited | None = None,
    session: Session | None = None,
    limit: Budget | Quota | None = None,
    tasks: Iterable[str] = (),
) -> Explanation:
    """Describe the facts in words; `tasks` are the names that its tenant may have meant."""
    state = facts.execution.state
    if state.is_terminal:
        return Explanation(state=state, why=f"It has ended: {state}.")
    if state is State.SUSPENDED and session is not None:
        return _conversing(facts, session)
    if state is State.SUSPENDED and wait is not None:
        return _suspended(facts, wait)
    if state is State.RATE_LIMITED:
        why, hold = describe_limit(facts.execution, limit)
        return Explanation(state=state, why=why, holds=[hold])
    tell = {
        State.ACTIVE: _running,
        State.DELAYED: _delayed,
        State.WAITING_CHILDREN: _dependent,
    }.get(state)
    return tell(facts) if tell else _waiting(facts, workers, tasks)


def with_bonds(explanation: Explanation, execution: Execution) -> Explanation:
    """Add what its end and that of its parent mean for each other."""
    if execution.state.is_terminal:
        return explanation
    bonds = describe_bonds(execution.parent, execution.on_parent_end, execution.bound)
    return replace(explanation, why=f"{explanation.why}{bonds}") if bonds else explanation


def _running(facts: ExplainFacts) -> Explanation:
    execution = facts.execution
    hold = {
        "type": "lease",
        "worker": execution.worker,
        "expires_at": execution.lease_expires_at,
    }
    attempt = execution.attempts
    expired = execution.lease_expires_at and execution.lease_expires_at <= facts.now
    if expired:
        why = f"Its worker {execution.worker} has stopped renewing; it is about to be reclaimed."
    else:
        why = f"It is running: attempt #{attempt}, on worker {execution.worker}."
    return Explanation(state=execution.state, why=why, holds=[hold])


def _delayed(facts: ExplainFacts) -> Explanation:
    execution = facts.execution
    hold = execution.hold or Hold.DELAY
    if hold is Hold.SCHEDULE:
        return _lined_up(execution)
    if hold is Hold.SIGNAL:
        return _listening(facts)
    holds: list[Mapping[str, Any]] = [
        {"type": "due_time", "reason": hold, "until": execution.run_at}
    ]
    when = execution.run_at.isoformat(timespec="milliseconds") if execution.run_at else ""
    why = f"{_DELAYS[hold]}: at {when}."
    if facts.lane_setting == "paused":
        holds.append({"type": "lane_paused", "id": execution.lane})
    return Explanation(state=execution.state, why=why, holds=holds)


def _listening(facts: ExplainFacts) -> Explanation:
    """Say which signals its code waits for."""
    execution = facts.execution
    wanted = " or ".join(execution.listens)
    why = f"Its code waits for a signal named {wanted}" if wanted else "Its code waits for a signal"
    if execution.run_at is not None:
        left = max((execution.run_at - facts.now).total_seconds(), 0)
        why += f"; {span(left)} left"
    hold = {"type": "signal", "names": execution.listens, "until": execution.run_at}
    return Explanation(state=execution.state, why=f"{why}.", holds=[hold])


def _suspended(facts: ExplainFacts, wait: Awaited) -> Explanation:
    execution = facts.execution
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
    if execution.hold is Hold.CODE:
        return Explanation(state=execution.state, why=_misfit(execution, wait), holds=holds)
    who = {point.name: point.answerers for point in wait.points}
    missing = conditions.missing(wait.condition, wait.seen, to_ms(facts.now), who)
    why = f"It waits for {missing or 'an operator'}"
    if execution.hold is Hold.ESCALATED:
        why += "; no answer came in time, so an operator must decide"
    elif execution.wait_until is not None:
        left = max((execution.wait_until - facts.now).total_seconds(), 0)
        why += f"; {span(left)} left, then {_ON_TIMEOUT[execution.on_timeout or 'fail']}"
    return Explanation(state=execution.state, why=f"{why}.", holds=holds)


def _misfit(execution: Execution, wait: Awaited) -> str:
    """Return how the code of an execution does not fit its journal, and what to do."""
    problem = " ".join(point.title for point in wait.points)
    return (
        f"Its code does not fit what it has recorded. {problem} "
        f"Deploy code that fits, then run `holdfast resume {execution.id}`."
    )


def _conversing(facts: ExplainFacts, session: Session) -> Explanation:
    execution, user = facts.execution, session.key.user
    since = (
        ""
        if session.since is None
        else f" since {session.since.isoformat(timespec='milliseconds')}"
    )
    hold = {"type": "message", "id": session.id, "user": user, "since": session.since}
    why = f"It waits for a message from user {user}{since}"
    if session.person is not None:
        hold = {"type": "person", "id": session.id, "person": session.person}
        reason = "" if session.handover_reason is None else f" ({session.handover_reason})"
        why = f"{session.person} answers user {user}{reason}"
        why += "; it continues when the session is given back"
    if execution.wait_until is not None:
        left = max((execution.wait_until - facts.now).total_seconds(), 0)
        why += f"; {span(left)} left"
    return Explanation(state=execution.state, why=f"{why}.", holds=[hold])


def _dependent(facts: ExplainFacts) -> Explanation:
    graph, awaited = facts.execution.graph, facts.awaited
    holds: list[Mapping[str, Any]] = [
        {"type": "member", "id": f"{graph}~{key}", "state": awaited[key]} for key in awaited
    ]
    if awaited:
        why = f"It waits for {_listed(awaited)} of graph {graph}."
    else:
        holds = [{"type": "graph", "id": graph}]
        why = f"It is about to be started by graph {graph}."
    return Explanation(state=facts.execution.state, why=why, holds=holds)


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


def _waiting(facts: ExplainFacts, workers: Sequence[Worker], tasks: Iterable[str]) -> Explanation:
    execution = facts.execution
    if execution.hold is Hold.GRANT:
        why = "It is being claimed: its budgets and quotas are asked."
        return Explanation(state=execution.state, why=why, holds=[{"type": "admission"}])
    holds: list[Mapping[str, Any]] = []
    reasons: list[str] = []
    if facts.lane_setting == "paused":
        holds.append({"type": "lane_paused", "id": execution.lane})
        reasons.append(f"lane {execution.lane} is paused")
    missing = _missing_worker(execution, workers, tasks)
    ahead = _ahead(facts, workers)
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


def _ahead(facts: ExplainFacts, workers: Sequence[Worker]) -> int:
    """Count the executions ahead of it on the workers that have its task."""
    execution = facts.execution
    own_workers = [worker for worker in _serving(execution, workers) if worker.has(execution.kind)]
    ahead = (facts.ahead or {}).items()
    return sum(count for kind, count in ahead if any(worker.has(kind) for worker in own_workers))


def lacks_task(facts: ExplainFacts, workers: Sequence[Worker]) -> bool:
    """Whether it waits on a lane that has workers, none of which has its task."""
    execution = facts.execution
    on_lane = _serving(execution, workers)
    waits = execution.state is State.WAITING
    return waits and bool(on_lane) and not any(worker.has(execution.kind) for worker in on_lane)


def _serving(execution: Execution, workers: Sequence[Worker]) -> list[Worker]:
    return [worker for worker in workers if worker.serves(execution.lane, execution.tenant)]


def _missing_worker(
    execution: Execution, workers: Sequence[Worker], tasks: Iterable[str]
) -> tuple[Mapping[str, Any], str] | None:
    """Say why no single live worker can take it; None if one can."""
    lane, kind, requires = execution.lane, execution.kind, execution.requires
    on_lane = _serving(execution, workers)
    if not on_lane:
        return {"type": "no_worker", "id": lane}, f"no live worker serves lane {lane}"
    capable = [worker for worker in on_lane if worker.has(kind)]
    if not capable:
        return _missing_task(execution, workers, tasks)
    if any(worker.can(requires) for worker in capable):
        return None
    offered = {name for worker in capable for name in worker.capabilities}
    absent = [name for name in requires if name not in offered]
    hold = {
        "type": "no_capable_worker",
        "lane": lane,
        "requires": requires,
        "missing": absent,
    }
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
    ours = [
        worker for worker in workers if worker.tenant in {None, execution.tenant} and worker.kinds
    ]
    elsewhere = sorted({name for worker in ours if worker.has(kind) for name in worker.lanes})
    if elsewhere:
        where = f"{'lane' if len(elsewhere) == 1 else 'lanes'} {', '.join(elsewhere)}"
        return hold, f"no live worker on lane {lane} has the task `{kind}`, but one on {where} has"
    known = {*tasks, *(name for worker in ours for name in worker.kinds or ())} - {kind}
    # Used only here, and slow to import.
    import difflib  # noqa: PLC0415

    hold["suggestions"] = difflib.get_close_matches(kind, sorted(known), _SUGGESTIONS)
    why = f"no live worker has the task `{kind}`"
    if hold["suggestions"]:
        why += f"; did you mean {' or '.join(f'`{name}`' for name in hold['suggestions'])}?"
    return hold, why

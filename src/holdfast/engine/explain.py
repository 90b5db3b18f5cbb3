"""Why an execution is not running: one plain sentence, and the holds behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.engine.blocked import describe_limit
from holdfast.model.budgets import Budget
from holdfast.model.quotas import Quota
from holdfast.model.states import Hold, State
from holdfast.model.workers import Worker
from holdfast.store.queries import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an execution is where it is."""

    state: State
    #: One plain sentence.
    why: str
    #: What holds it: `type` and facts of each. Empty when it has ended.
    holds: Sequence[Mapping[str, Any]] = field(default_factory=list)


_DELAYS = {
    Hold.DELAY: "It was submitted to start later",
    Hold.BACKOFF: "Its last attempt failed and it will be tried again",
    Hold.RECLAIM: "It lost its worker repeatedly and will be tried again",
    Hold.PAUSE: "It asked to go on later",
    Hold.DEBOUNCE: "A later submission with its key may still replace it",
}


def explain(
    standing: Standing, workers: Sequence[Worker], limit: Budget | Quota | None = None
) -> Explanation:
    """Put the facts into words."""
    state = standing.execution.state
    if state.is_terminal:
        return Explanation(state=state, why=f"It has ended: {state}.")
    if state is State.ACTIVE:
        return _running(standing)
    if state is State.DELAYED:
        return _delayed(standing)
    if state is State.RATE_LIMITED:
        why, hold = describe_limit(standing.execution, limit)
        return Explanation(state=state, why=why, holds=[hold])
    if standing.execution.hold is Hold.GRANT:
        why = "It is being claimed: its budgets and quotas are asked."
        return Explanation(state=state, why=why, holds=[{"type": "admission"}])
    return _waiting(standing, workers)


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
        why = f"It is running: attempt {attempt}, on worker {execution.worker}."
    return Explanation(state=execution.state, why=why, holds=[hold])


def _delayed(standing: Standing) -> Explanation:
    execution = standing.execution
    hold = execution.hold or Hold.DELAY
    holds: list[Mapping[str, Any]] = [
        {"type": "due_time", "reason": hold, "until": execution.run_at}
    ]
    when = execution.run_at.isoformat(timespec="milliseconds") if execution.run_at else ""
    why = f"{_DELAYS[hold]}: at {when}."
    if standing.lane_setting == "paused":
        holds.append({"type": "lane_paused", "id": execution.lane})
    return Explanation(state=execution.state, why=why, holds=holds)


def _waiting(standing: Standing, workers: Sequence[Worker]) -> Explanation:
    execution = standing.execution
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

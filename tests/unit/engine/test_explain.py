"""engine.explain: one plain sentence for each way of not running."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from holdfast.engine.explain import explain
from holdfast.model.executions import Execution, ExecutionId
from holdfast.model.moments import from_ms
from holdfast.model.states import TERMINAL, AttemptKind, Hold, State
from holdfast.model.workers import Worker
from holdfast.store.queries import ExplainFacts

NOW = from_ms(1_767_225_600_000)


def _standing(
    state: State, *, lane_setting: str | None = None, ahead: int | None = None, **fields: Any
) -> ExplainFacts:
    values: dict[str, Any] = dict.fromkeys(Execution.__dataclass_fields__)
    values |= {
        "id": ExecutionId("x1"),
        "tenant": "acme",
        "lane": "bulk",
        "kind": "mail",
        "requires": (),
        "state": state,
        "attempt_kind": AttemptKind.INITIAL,
        "attempts": 1,
        "tags": {},
        "created_at": NOW,
        **fields,
    }
    return ExplainFacts(
        now=NOW,
        execution=Execution(**values),
        lane_setting=lane_setting,
        ahead=None if ahead is None else {values["kind"]: ahead},
    )


def _worker(
    *capabilities: str,
    lanes: tuple[str, ...] = ("bulk",),
    draining: bool = False,
    kinds: tuple[str, ...] | None = None,
    tenant: str | None = None,
) -> Worker:
    return Worker(
        instance=f"w-{'-'.join(capabilities)}",
        worker="w",
        lanes=lanes,
        capabilities=capabilities,
        slots=1,
        busy=0,
        draining=draining,
        registered_at=NOW,
        heartbeat_at=NOW,
        expires_at=NOW,
        kinds=kinds,
        tenant=tenant,
    )


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_ended_execution_has_ended(state: State) -> None:
    """Nothing holds it any more."""
    told = explain(_standing(state), [])
    assert (told.state, told.why, told.holds) == (state, f"It has ended: {state}.", [])


def test_a_running_execution_names_its_worker() -> None:
    """It is not held back at all."""
    until = NOW + timedelta(seconds=1)
    told = explain(_standing(State.ACTIVE, worker="w1", attempts=3, lease_expires_at=until), [])
    assert told.why == "It is running: attempt #3, on worker w1."
    assert told.holds == [{"type": "lease", "worker": "w1", "expires_at": until}]


def test_an_expired_lease_is_told_before_it_is_reclaimed() -> None:
    """At its last instant the lease is over, as for every other check."""
    told = explain(_standing(State.ACTIVE, worker="w1", lease_expires_at=NOW), [])
    assert told.why == "Its worker w1 has stopped renewing; it is about to be reclaimed."


@pytest.mark.parametrize(
    ("hold", "start"),
    [
        (Hold.DELAY, "It was submitted to start later"),
        (Hold.BACKOFF, "Its last attempt failed and it will be tried again"),
        (Hold.RECLAIM, "It lost its worker repeatedly and will be tried again"),
        (Hold.PAUSE, "It asked to continue later"),
    ],
)
def test_a_delayed_execution_says_why_and_until_when(hold: Hold, start: str) -> None:
    """The due time is exact."""
    told = explain(_standing(State.DELAYED, hold=hold, run_at=NOW), [])
    assert told.why == f"{start}: at 2026-01-01T00:00:00.000+00:00."
    assert told.holds == [{"type": "due_time", "reason": hold, "until": NOW}]


def test_a_delayed_execution_on_a_paused_lane_has_two_holds() -> None:
    """Its due time alone will not start it."""
    told = explain(_standing(State.DELAYED, hold=Hold.DELAY, run_at=NOW, lane_setting="paused"), [])
    assert [hold["type"] for hold in told.holds] == ["due_time", "lane_paused"]


def test_a_paused_lane_is_told() -> None:
    """The lane is named."""
    told = explain(_standing(State.WAITING, lane_setting="paused", ahead=0), [_worker()])
    assert told.why == "It waits for a worker: lane bulk is paused."
    assert told.holds == [{"type": "lane_paused", "id": "bulk"}]


def test_a_draining_lane_still_runs_what_it_has() -> None:
    """Draining refuses new work only."""
    told = explain(_standing(State.WAITING, lane_setting="draining", ahead=0), [_worker()])
    assert [hold["type"] for hold in told.holds] == ["queue"]


def test_a_lane_without_workers_is_told() -> None:
    """Workers of other lanes do not count."""
    told = explain(_standing(State.WAITING, ahead=0), [_worker(lanes=("other",))])
    assert told.why == "It waits for a worker: no live worker serves lane bulk."
    assert told.holds == [{"type": "no_worker", "id": "bulk"}]


def test_a_draining_worker_serves_nobody() -> None:
    """It finishes what it has."""
    told = explain(_standing(State.WAITING, ahead=0), [_worker(draining=True)])
    assert told.holds == [{"type": "no_worker", "id": "bulk"}]


def test_a_task_that_no_worker_has_is_named() -> None:
    """With what may have been meant: other names of workers, and published ones."""
    standing = _standing(State.WAITING, kind="order.plac", ahead=0)
    told = explain(standing, [_worker(kinds=("order.place", "x"))], tasks=["orders.plac", "mail"])
    assert told.why == (
        "It waits for a worker: no live worker has the task `order.plac`; "
        "did you mean `orders.plac` or `order.place`?"
    )
    assert told.holds == [
        {
            "type": "no_worker",
            "id": "bulk",
            "lane": "bulk",
            "kind": "order.plac",
            "suggestions": ["orders.plac", "order.place"],
        }
    ]


def test_a_task_like_no_other_has_no_suggestions() -> None:
    """A rolling deployment will bring it, or nothing is like it."""
    told = explain(_standing(State.WAITING, ahead=0), [_worker(kinds=("order.place",))])
    assert told.why == "It waits for a worker: no live worker has the task `mail`."


def test_a_task_that_workers_of_another_lane_have_names_their_lane() -> None:
    """Its name is right, its lane is not."""
    others = [_worker(kinds=("x",)), _worker(kinds=("mail",), lanes=("fast",))]
    told = explain(_standing(State.WAITING, ahead=0), others)
    assert told.why == (
        "It waits for a worker: no live worker on lane bulk has the task `mail`, "
        "but one on lane fast has."
    )


def test_workers_of_other_tenants_neither_serve_nor_suggest() -> None:
    """No tenant learns what another one has."""
    theirs = _worker(kinds=("mail", "mails"), tenant="other")
    told = explain(_standing(State.WAITING, ahead=0), [theirs])
    assert told.why == "It waits for a worker: no live worker serves lane bulk."
    told = explain(_standing(State.WAITING, ahead=0), [theirs, _worker(kinds=("x",))])
    assert told.why == "It waits for a worker: no live worker has the task `mail`."


def test_a_worker_that_names_no_kinds_has_every_task() -> None:
    """As workers in other languages may do."""
    told = explain(_standing(State.WAITING, ahead=0), [_worker(kinds=("x",)), _worker()])
    assert [hold["type"] for hold in told.holds] == ["queue"]


def test_kinds_that_its_workers_lack_are_not_ahead() -> None:
    """The backlog of another app on the same lane does not hold it up."""
    standing = replace(_standing(State.WAITING), ahead={"mail": 1, "sms": 2, "other-app": 50})
    told = explain(standing, [_worker(kinds=("mail", "sms")), _worker(kinds=("other-app",))])
    assert told.why == "It waits for a worker: 3 executions of tenant acme are ahead of it."


def test_all_reasons_are_told_at_once() -> None:
    """Mending one of two must not be a surprise."""
    told = explain(_standing(State.WAITING, lane_setting="paused", ahead=5), [])
    assert told.why == (
        "It waits for a worker: lane bulk is paused, and no live worker serves lane bulk."
    )
    assert [hold["type"] for hold in told.holds] == ["lane_paused", "no_worker"]


def test_a_missing_capability_is_named() -> None:
    """Only what nobody offers is missing."""
    told = explain(_standing(State.WAITING, requires=("eu", "gpu"), ahead=0), [_worker("eu")])
    assert told.why == (
        "It waits for a worker: no live worker on lane bulk has the capability gpu."
    )
    assert told.holds == [
        {
            "type": "no_capable_worker",
            "lane": "bulk",
            "requires": ("eu", "gpu"),
            "missing": ["gpu"],
        }
    ]
    assert told.targets == [{"noun": "lane", "id": "bulk"}]


def test_a_capability_on_another_lane_is_still_missing() -> None:
    """A worker must serve the lane and have the capability."""
    workers = [_worker("gpu", lanes=("other",)), _worker()]
    told = explain(_standing(State.WAITING, requires=("gpu",), ahead=0), workers)
    assert told.holds[0]["missing"] == ["gpu"]


def test_one_worker_must_have_all_capabilities() -> None:
    """Two workers that have them together are not enough."""
    standing = _standing(State.WAITING, requires=("eu", "gpu"), ahead=0)
    told = explain(standing, [_worker("eu"), _worker("gpu")])
    assert told.why == "It waits for a worker: no live worker on lane bulk has all of eu, gpu."
    assert told.holds[0]["type"] == "no_capable_worker"
    assert told.holds[0]["missing"] == []
    both = explain(standing, [_worker("eu"), _worker("gpu"), _worker("eu", "gpu", "more")])
    assert [hold["type"] for hold in both.holds] == ["queue"]


def test_a_place_in_the_queue_is_told() -> None:
    """When nothing is wrong, others are ahead."""
    told = explain(_standing(State.WAITING, ahead=7), [_worker()])
    assert told.why == "It waits for a worker: 7 executions of tenant acme are ahead of it."
    assert told.holds == [{"type": "queue", "id": "bulk", "ahead": 7}]


def test_the_next_in_the_queue_is_told_so() -> None:
    """The head of the queue has nothing before it."""
    told = explain(_standing(State.WAITING, ahead=0), [_worker()])
    assert told.why == "It waits for a worker: it is next of tenant acme on lane bulk."
    assert told.holds == [{"type": "queue", "id": "bulk", "ahead": 0}]


def test_one_execution_ahead_is_one() -> None:
    """The sentence is plain English for one, too."""
    told = explain(_standing(State.WAITING, ahead=1), [_worker()])
    assert told.why == "It waits for a worker: 1 execution of tenant acme is ahead of it."

"""A plain-Python model of the life of executions: the oracle of the state machine.

It says what every call must answer and what the store must hold afterwards. It knows nothing of
keys, queues or timers; what is due is looked up in the executions themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from holdfast.model.executions import Execution, ExecutionId, Failure, Lease, NewExecution
from holdfast.model.moments import from_ms
from holdfast.model.states import AttemptKind, Hold, State
from tests.property.comparing import Refused

DAY_MS = 86_400_000
PRIORITY_US = 60_000_000
MAX_RECLAIMS = 20
MAX_REPLAYS = 10

Group = tuple[str, str]


def content_of(item: NewExecution) -> NewExecution:
    """Return what tells a repetition from a conflict."""
    return replace(item, id=None, idempotency_key=None)


@dataclass(slots=True)
class Run:
    """An execution as it must be."""

    id: str
    item: NewExecution
    created_ms: int
    #: Place in its queue; set when the store has told the birth stamp.
    rank: int = 0
    priority: int = 0
    state: State = State.WAITING
    hold: Hold | None = None
    turn: AttemptKind = AttemptKind.INITIAL
    attempts: int = 0
    failures: int = 0
    reclaims: int = 0
    replays: int = 0
    epoch: int = 0
    is_open: bool = False
    #: The fence of the last holder, unless the lease was lost against its will.
    fence: str | None = None
    revoked: str | None = None
    worker: str | None = None
    lease_until: int | None = None
    timeout_at: int | None = None
    timeout_left: int | None = None
    run_at: int | None = None
    deadline: int | None = None
    started: int | None = None
    ended: int | None = None
    forget_at: int | None = None
    pct: float | None = None
    note: str = ""
    result: bytes | None = None
    error_type: str | None = None
    reason: str | None = None
    steps: dict[str, bytes] = field(default_factory=dict)
    #: Answers of calls that ended an attempt, by verb and fence.
    answers: dict[tuple[str, str], object] = field(default_factory=dict)

    @property
    def group(self) -> Group:
        """Where it queues: lane and tenant; kinds and requirements do not split a queue."""
        return self.item.lane, self.item.tenant

    @property
    def due(self) -> int | None:
        """When something is next due for it."""
        if self.state.is_terminal:
            return self.forget_at
        instants = [self.deadline]
        if self.state is State.ACTIVE:
            instants += [self.lease_until, self.timeout_at]
        elif self.state is State.DELAYED:
            instants.append(self.run_at)
        return min((instant for instant in instants if instant is not None), default=None)

    def described(self) -> Execution:
        """Return what `describe` must answer, but for the error."""
        active = self.state is State.ACTIVE
        return Execution(
            id=ExecutionId(self.id),
            tenant=self.item.tenant,
            lane=self.item.lane,
            kind=self.item.kind,
            priority=self.priority,
            requires=self.item.requires,
            state=self.state,
            hold=self.hold,
            attempt_kind=self.turn,
            attempt_open=self.is_open,
            attempts=self.attempts,
            failures=self.failures,
            reclaims=self.reclaims,
            replays=self.replays,
            epoch=self.epoch,
            worker=self.worker if active else None,
            created_at=from_ms(self.created_ms),
            started_at=_moment(self.started),
            completed_at=_moment(self.ended),
            run_at=_moment(self.run_at),
            deadline_at=_moment(self.deadline),
            lease_expires_at=_moment(self.lease_until),
            timeout_at=_moment(self.timeout_at),
            forget_at=_moment(self.forget_at),
            progress_pct=self.pct,
            progress_message=self.note or None,
            error=None,
            reason=self.reason,
            tags=self.item.tags,
            idempotency_key=self.item.idempotency_key,
        )


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else from_ms(ms)


class Model:
    """All executions of a store, and its settings."""

    def __init__(self, now_ms: int) -> None:
        self.now = now_ms
        self.runs: dict[str, Run] = {}
        self.lanes: dict[str, str] = {}
        self.keep: dict[tuple[str, str], int] = {}
        #: Idempotency keys that came with an id of the caller's own.
        self.bound: dict[tuple[str, str], tuple[str, NewExecution]] = {}

    # Creating

    def create(self, item: NewExecution, execution_id: str) -> tuple[str, State, bool]:
        """Create one; returns id, state and whether it existed before."""
        content = content_of(item)
        if item.idempotency_key is not None:
            bound = self._bind(item, execution_id)
            if bound is not None:
                return bound, self.runs[bound].state, True
        known = self.runs.get(execution_id)
        if known is not None:
            named = known.item.id is not None or known.item.idempotency_key is not None
            if named and content_of(known.item) == content:
                return execution_id, known.state, True
            raise Refused("idempotency_conflict" if item.idempotency_key else "id_conflict")
        if self.lanes.get(item.lane) == "draining":
            raise Refused("lane_draining")
        run = Run(execution_id, item, self.now, priority=item.priority)
        if item.delay_ms:
            run.state, run.hold, run.run_at = State.DELAYED, Hold.DELAY, self.now + item.delay_ms
        if item.deadline_ms is not None:
            run.deadline = self.now + item.deadline_ms
        self.runs[execution_id] = run
        return execution_id, run.state, False

    def set_birth(self, execution_id: str, stamp_us: int) -> None:
        """Learn the birth stamp that the store gave to a new execution."""
        run = self.runs[execution_id]
        run.rank = max(stamp_us, (run.run_at or 0) * 1000) - run.priority * PRIORITY_US

    def _bind(self, item: NewExecution, execution_id: str) -> str | None:
        """Return the other execution that has the key already, if there is one."""
        key = (item.tenant, item.idempotency_key or "")
        content = content_of(item)
        if key in self.bound:
            owner, owner_content = self.bound[key]
            if owner_content != content:
                raise Refused("idempotency_conflict")
            return owner if owner != execution_id else None
        if item.id is None:
            return None
        for run in self.runs.values():
            if (run.item.tenant, run.item.idempotency_key) == key:
                if content_of(run.item) != content:
                    raise Refused("idempotency_conflict")
                return run.id
        self.bound[key] = (execution_id, content)
        return None

    def is_dangling(self, item: NewExecution) -> bool:
        """Whether the key of an item is bound to an execution that does not exist."""
        owner = self.bound.get((item.tenant, item.idempotency_key or ""))
        return owner is not None and owner[0] not in self.runs

    # Claiming

    def eligible(
        self,
        lanes: Iterable[str],
        capabilities: Iterable[str],
        tenant: str | None,
        kinds: Sequence[str] | None,
    ) -> dict[Group, list[str]]:
        """Return what may be claimed, in the exact order inside each group."""
        open_lanes = {lane for lane in lanes if self.lanes.get(lane) != "paused"}
        able = set(capabilities)
        runs = [
            run
            for run in self.runs.values()
            if run.state is State.WAITING
            and run.item.lane in open_lanes
            and able.issuperset(run.item.requires)
            and tenant in (None, run.item.tenant)
            and (kinds is None or run.item.kind in kinds)
            and (run.deadline is None or run.deadline > self.now)
        ]
        groups: dict[Group, list[str]] = {}
        for run in sorted(runs, key=lambda run: (run.rank, run.id)):
            groups.setdefault(run.group, []).append(run.id)
        return groups

    def claim(self, execution_id: str, request: str, worker: str, lease_ms: int) -> Lease:
        """Lease one."""
        run = self.runs[execution_id]
        timeout = run.timeout_left if run.is_open else run.item.attempt_timeout_ms
        run.attempts += 0 if run.is_open else 1
        run.epoch += 1
        run.state, run.worker = State.ACTIVE, worker
        run.lease_until = self.now + lease_ms
        run.timeout_at = None if timeout is None else self.now + timeout
        run.started = self.now if run.started is None else run.started
        run.is_open, run.timeout_left = False, None
        lease = Lease(request, run.epoch, run.attempts - 1)
        run.fence = lease.fence
        return lease

    # What a holder does

    def held(self, execution_id: str, lease: Lease) -> Run:
        """Return the execution if this lease allows to change it."""
        run = self._known(execution_id)
        if run.fence == lease.fence:
            if run.state is not State.ACTIVE:
                raise Refused("not_active")
            if run.lease_until is not None and run.lease_until > self.now:
                return run
            raise Refused("stale_lease")
        raise Refused("lease_revoked" if run.revoked == lease.fence else "stale_lease")

    def _known(self, execution_id: str) -> Run:
        if execution_id not in self.runs:
            raise Refused("execution_not_found")
        return self.runs[execution_id]

    def is_live(self, execution_id: str, lease: Lease) -> bool:
        """Whether a lease still has authority."""
        try:
            self.held(execution_id, lease)
        except Refused:
            return False
        return True

    def answered(self, verb: str, execution_id: str, lease: Lease) -> tuple[object] | None:
        """Return the first answer, boxed, to a call that ended the attempt of this lease."""
        answers = self.runs[execution_id].answers if execution_id in self.runs else {}
        return (answers[verb, lease.fence],) if (verb, lease.fence) in answers else None

    def renew(self, execution_id: str, lease: Lease, lease_ms: int) -> datetime:
        """Extend a lease."""
        run = self.held(execution_id, lease)
        run.lease_until = self.now + lease_ms
        return from_ms(run.lease_until)

    def complete(self, execution_id: str, lease: Lease, result: bytes) -> None:
        """End an execution with its result."""
        run = self.held(execution_id, lease)
        run.result = result
        run.answers["complete", lease.fence] = None
        self._finish(run, State.COMPLETED)

    def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        """End an attempt with an error."""
        run = self.held(execution_id, lease)
        gives_up = run.item.retry is not None and failure.type in run.item.retry.give_up_on
        final = gives_up or not failure.retryable
        retry_at = self._settle(run, failure.type, final=final, after_ms=failure.retry_after_ms)
        answer = (run.state, _moment(retry_at))
        run.answers["fail", lease.fence] = answer
        return answer

    def _settle(
        self, run: Run, error_type: str, *, final: bool, after_ms: int | None
    ) -> int | None:
        """Retry a failed attempt by its policy; returns when."""
        run.failures += 1
        policy = None if final else run.item.retry
        wait = policy.delay_ms(run.failures, run.id, run.epoch) if policy else None
        if wait is None:
            self._finish(run, State.FAILED, error_type=error_type)
            return None
        run.turn = AttemptKind.RETRY
        wait = wait if after_ms is None else after_ms
        self._requeue(run, self.now + wait, Hold.BACKOFF)
        return self.now + wait

    def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        """Give the lease back and go on later."""
        run = self.held(execution_id, lease)
        run.timeout_left = None if run.timeout_at is None else run.timeout_at - self.now
        run.is_open = True
        self._requeue(run, self.now + delay_ms, Hold.PAUSE)
        answer = (run.state, from_ms(self.now + delay_ms))
        run.answers["delay", lease.fence] = answer
        return answer

    def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        """Record a step; the first result counts."""
        return self.held(execution_id, lease).steps.setdefault(name, result)

    def progress(self, execution_id: str, lease: Lease, pct: float, note: str) -> None:
        """Record progress."""
        run = self.held(execution_id, lease)
        run.pct, run.note = pct, note

    # What operators do

    def cancel(self, execution_id: str, reason: str) -> None:
        """Cancel what has not ended."""
        run = self._known(execution_id)
        if run.state.is_terminal:
            raise Refused("already_terminal")
        self._finish(run, State.CANCELLED, reason=reason)

    def revoke(self, execution_id: str) -> None:
        """Take the lease away."""
        run = self._known(execution_id)
        if run.state is not State.ACTIVE:
            raise Refused("not_active")
        run.revoked, run.fence = run.fence, None
        run.turn = AttemptKind.RECLAIM
        self._requeue(run, self.now, Hold.RECLAIM)

    def replay(self, execution_id: str, *, keep_steps: bool, from_step: str) -> State:
        """Run a terminal execution again."""
        run = self._known(execution_id)
        if not run.state.is_terminal:
            raise Refused("not_terminal")
        most = MAX_REPLAYS if run.item.max_replays is None else run.item.max_replays
        if run.replays >= most:
            raise Refused("replay_limit")
        if from_step and from_step not in run.steps:
            raise Refused("step_not_found")
        names = list(run.steps)
        if not keep_steps:
            kept = names[: names.index(from_step)] if from_step else []
            run.steps = {name: run.steps[name] for name in kept}
        run.replays += 1
        run.failures = run.reclaims = 0
        run.ended = run.forget_at = run.pct = run.result = None
        run.error_type = run.reason = None
        run.note = ""
        run.turn = AttemptKind.REPLAY
        if run.item.deadline_ms is not None:
            run.deadline = self.now + run.item.deadline_ms
        self._requeue(run, self.now, Hold.DELAY)
        return run.state

    def prioritize(self, execution_id: str, priority: int) -> int:
        """Change the priority; returns the previous one."""
        run = self._known(execution_id)
        if run.state.is_terminal:
            raise Refused("already_terminal")
        previous, run.priority = run.priority, priority
        run.rank += (previous - priority) * PRIORITY_US
        return previous

    # Time

    def tick(self, limit: int) -> int:
        """Fire up to `limit` of what is due, the earliest first; returns how many."""
        waiting = ((run.due, f"x:{run.id}", run) for run in self.runs.values())
        due = sorted((at, name, run) for at, name, run in waiting if at is not None)
        fired = [run for at, _, run in due if at <= self.now][:limit]
        for run in fired:
            self._fire(run)
        return len(fired)

    def _fire(self, run: Run) -> None:
        """Do the first thing that is due."""
        if run.state.is_terminal:
            del self.runs[run.id]
        elif self._passed(run.deadline):
            self._finish(run, State.EXPIRED)
        elif run.state is State.DELAYED:
            self._requeue(run, self.now, Hold.DELAY)
        elif self._passed(run.timeout_at):
            run.fence = None
            self._settle(run, "attempt_timeout", final=False, after_ms=None)
        else:
            run.fence = None
            self._reclaim(run)

    def _passed(self, instant: int | None) -> bool:
        return instant is not None and instant <= self.now

    def _reclaim(self, run: Run) -> None:
        run.reclaims += 1
        most = MAX_RECLAIMS if run.item.max_reclaims is None else run.item.max_reclaims
        if run.reclaims > most:
            self._finish(run, State.FAILED, error_type="reclaim_limit")
            return
        run.turn = AttemptKind.RECLAIM
        wait = 0 if run.reclaims == 1 else min(60_000, 1000 * 2 ** (run.reclaims - 2))
        self._requeue(run, self.now + wait, Hold.RECLAIM)

    def _requeue(self, run: Run, run_at: int, hold: Hold) -> None:
        run.lease_until = run.timeout_at = run.run_at = run.hold = None
        run.state = State.WAITING
        if run_at > self.now:
            run.state, run.hold, run.run_at = State.DELAYED, hold, run_at

    def _finish(
        self, run: Run, state: State, *, error_type: str | None = None, reason: str | None = None
    ) -> None:
        run.state, run.ended = state, self.now
        run.error_type, run.reason = error_type, reason or None
        run.hold = run.run_at = run.lease_until = run.timeout_at = run.timeout_left = None
        run.is_open = False
        run.forget_at = self.now + self._retention(run.item, state)

    def _retention(self, item: NewExecution, state: State) -> int:
        if item.retention_ms is not None:
            return item.retention_ms
        default = DAY_MS if state is State.COMPLETED else 7 * DAY_MS
        of_all = self.keep.get(("*", state.value), default)
        return self.keep.get((item.tenant, state.value), of_all)

    # Looking

    def counts(self) -> Counter[tuple[str, str, str, str]]:
        """Return how many executions are in each cell."""
        return Counter(
            (run.item.tenant, run.item.lane, run.item.kind, run.state.value)
            for run in self.runs.values()
        )

    def ids(self, states: Sequence[State] | None = None) -> list[str]:
        """Return the ids in the order of creation, of some states or of all."""
        return [run.id for run in self.runs.values() if states is None or run.state in states]

"""A plain model of waiting: what a store must answer, by rules that are easy to read.

Whether a condition holds is asked of `model.conditions`; that the store evaluates the same is
what the comparison shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from holdfast.model import conditions
from holdfast.model.conditions import After, Condition, Group, Seen
from holdfast.model.executions import Lease
from holdfast.model.waitpoints import NewWaitpoint
from tests.property.comparing import Refused

ENDS = {"fail": "failed", "cancel": "cancelled", "expire": "expired"}
#: How long an ended execution is kept; all are created with it.
KEEP_MS = 100_000
MOST_RECLAIMS = 20


@dataclass
class Point:
    """A waitpoint."""

    name: str
    state: str
    made: int
    key: str | None = None
    until: int | None = None
    uses: int | None = None
    used: int = 0
    why: str | None = None

    def lives(self, now: int) -> bool:
        """Whether it can be answered."""
        return self.state != "closed" and not (self.until is not None and self.until <= now)


@dataclass
class Sent:
    """A signal that was counted."""

    name: str
    point: int | None
    key: str | None
    seen: Seen
    effect: str


@dataclass
class Wait:
    """What an execution waits for, or waited for last."""

    key: str
    condition: Condition
    #: Numbers of its waitpoints.
    points: list[int]
    began: int
    until: int | None = None
    on_timeout: str = "fail"
    #: Numbers of the signals that a part of the condition wanted.
    wanted: list[int] = field(default_factory=list)
    delivered: list[int] = field(default_factory=list)


@dataclass
class Run:
    """An execution."""

    id: str
    deadline: int | None
    state: str = "waiting"
    attempts: int = 0
    epoch: int = 0
    fence: str | None = None
    due: int | None = None
    #: Its attempt is interrupted and goes on at the next claim.
    open: bool = False
    reclaims: int = 0
    points: list[Point] = field(default_factory=list)
    signals: list[Sent] = field(default_factory=list)
    wait: Wait | None = None
    resumed: bool = False

    @property
    def ended(self) -> bool:
        """Whether it is in a terminal state."""
        return self.state in ("completed", "failed", "cancelled", "expired")

    @property
    def timer(self) -> int | None:
        """When something is due for it."""
        if self.ended:
            return self.due
        return min((t for t in (self.due, self.deadline) if t is not None), default=None)

    def named(self, name: str, now: int) -> int | None:
        """Return the number of the waitpoint of this name that can be answered."""
        found = [n for n, p in enumerate(self.points, 1) if p.name == name and p.lives(now)]
        return found[0] if found else None


def distinct_in(condition: Condition) -> Iterator[str]:
    """Yield what the counts of a condition tell signals apart by."""
    if isinstance(condition, Group):
        if condition.distinct is not None:
            yield condition.distinct
        for part in condition.of:
            yield from distinct_in(part)


def effect_of(condition: Condition, earlier: Sequence[Seen], signal: Seen) -> str:
    """Return what a signal does to a wait that it does not end; `earlier` are those it wanted.

    Of a wait that counts different sources, and no signals, each source answers a question once.
    """
    leaves = [leaf for leaf in conditions.leaves(condition) if leaf.matches(signal)]
    if not leaves:
        return "ignored"
    counted_by = set(distinct_in(condition))
    same_source = [other for other in earlier if other.source == signal.source]
    is_known = all(any(map(leaf.matches, same_source)) for leaf in leaves)
    counts_sources = "sources" in counted_by and "signals" not in counted_by
    return "duplicate" if counts_sources and is_known else "appended"


def times_of(condition: Condition, began: int) -> Iterator[int]:
    """Return the moments of a condition."""
    if isinstance(condition, After):
        span = condition.span_ms
        yield began + span if span is not None else condition.time_ms or 0
    elif isinstance(condition, Group):
        for child in condition.of:
            yield from times_of(child, began)


class Model:
    """All executions, and the time."""

    def __init__(self, now_ms: int) -> None:
        self.now = now_ms
        self.runs: dict[str, Run] = {}

    def create(self, execution_id: str, deadline_ms: int | None) -> None:
        """Create an execution."""
        deadline = None if deadline_ms is None else self.now + deadline_ms
        self.runs[execution_id] = Run(execution_id, deadline)

    # For workers

    def claimable(self) -> set[str]:
        """Return what a claim must return."""
        return {
            run.id
            for run in self.runs.values()
            if run.state == "waiting" and not self._passed(run.deadline)
        }

    def claim(self, execution_id: str, request: str, lease_ms: int) -> Lease:
        """Claim it; returns the lease."""
        run = self.runs[execution_id]
        if not run.open:
            run.attempts += 1
        run.epoch += 1
        lease = Lease(request, run.epoch, run.attempts - 1)
        run.state, run.open, run.fence = "active", False, lease.fence
        run.due = self.now + lease_ms
        return lease

    def _held(self, execution_id: str, lease: Lease) -> Run:
        run = self._known(execution_id)
        if run.fence == lease.fence and run.state != "active":
            raise Refused("not_active")
        if run.fence != lease.fence or run.due is None or run.due <= self.now:
            raise Refused("stale_lease")
        return run

    def _known(self, execution_id: str) -> Run:
        if execution_id not in self.runs:
            raise Refused("execution_not_found")
        return self.runs[execution_id]

    def is_live(self, execution_id: str, lease: Lease) -> bool:
        """Whether a lease allows something."""
        try:
            self._held(execution_id, lease)
        except Refused:
            return False
        return True

    def complete(self, execution_id: str, lease: Lease) -> None:
        """End an execution."""
        self._end(self._held(execution_id, lease), "completed")

    def prepare(
        self, execution_id: str, lease: Lease, items: Sequence[NewWaitpoint]
    ) -> list[tuple[int, str]]:
        """Make waitpoints; returns their numbers and names."""
        run = self._held(execution_id, lease)
        known = {p.key: n for n, p in enumerate(run.points, 1) if p.key and p.lives(self.now)}
        for item in items:
            if item.key not in known and run.named(item.name, self.now) is not None:
                raise Refused("waitpoint_exists")
        answer = []
        for item in items:
            number = known.get(item.key or "") or self._add(run, item, "pending")
            answer.append((number, run.points[number - 1].name))
        return answer

    def _add(self, run: Run, item: NewWaitpoint, state: str) -> int:
        until = None if item.expires_ms is None else self.now + item.expires_ms
        run.points.append(
            Point(item.name, state, self.now, key=item.key, until=until, uses=item.uses)
        )
        return len(run.points)

    def suspend(
        self,
        execution_id: str,
        lease: Lease,
        items: Sequence[NewWaitpoint],
        condition: Condition,
        *,
        key: str,
        timeout_ms: int | None,
        on_timeout: str,
    ) -> tuple[str, list[int], list[str]]:
        """Wait; returns the state, the numbers of the waitpoints and the names of the signals."""
        run = self._held(execution_id, lease)
        if run.resumed and run.wait and run.wait.key == key:
            return "active", run.wait.points, self.delivered(run)
        numbers = [run.named(item.name, self.now) or self._add(run, item, "open") for item in items]
        wait = Wait(key, condition, numbers, self.now, on_timeout=on_timeout)
        wait.until = None if timeout_ms is None else self.now + timeout_ms
        run.wait = wait
        for number in numbers:
            for index, sent in enumerate(run.signals, 1):
                if sent.point == number and sent.effect == "buffered":
                    self._offer(run, wait, index, sent)
            run.points[number - 1].state = "open"
        if self._holds(run, wait):
            self._close(run, wait, "resumed")
            run.resumed = True
            return "active", numbers, self.delivered(run)
        run.state, run.open, run.resumed = "suspended", True, False
        self._rearm(run, wait)
        return "suspended", numbers, []

    @staticmethod
    def _offer(run: Run, wait: Wait, index: int, sent: Sent) -> None:
        earlier = [run.signals[number - 1].seen for number in wait.wanted]
        sent.effect = effect_of(wait.condition, earlier, sent.seen)
        if sent.effect != "ignored":
            wait.wanted.append(index)

    def _holds(self, run: Run, wait: Wait) -> bool:
        seen = [run.signals[index - 1].seen for index in wait.wanted]
        return conditions.holds(wait.condition, seen, self.now, wait.began)

    def _rearm(self, run: Run, wait: Wait) -> None:
        coming = [time for time in times_of(wait.condition, wait.began) if time > self.now]
        if wait.until is not None:
            coming.append(wait.until)
        run.due = min(coming, default=None)

    @staticmethod
    def delivered(run: Run) -> list[str]:
        """Return the names of the signals that the last wait delivers."""
        assert run.wait
        return [run.signals[index - 1].name for index in run.wait.delivered]

    def _close(self, run: Run, wait: Wait, why: str, extra: int | None = None) -> None:
        wait.delivered = sorted(wait.wanted) + ([extra] if extra else [])
        for number in wait.points:
            _close_point(run.points[number - 1], why)

    def _wake(self, run: Run, extra: str | None = None) -> None:
        """Resume a suspended execution."""
        assert run.wait
        if extra is not None:
            seen = Seen(waitpoint="", name=extra)
            run.signals.append(Sent(extra, None, None, seen, "resumed"))
        self._close(run, run.wait, "resumed", len(run.signals) if extra else None)
        run.state, run.resumed, run.due = "waiting", True, None

    # For those who answer

    def signal(
        self,
        waitpoint: tuple[str, int],
        name: str,
        *,
        by: str,
        payload: Any,
        key: str,
        made: int | None,
    ) -> str:
        """Send a signal; returns its effect."""
        execution_id, number = waitpoint
        run = self.runs.get(execution_id)
        if run is None:
            raise Refused("waitpoint_not_found" if made is None else "invalid_token")
        point = run.points[number - 1]
        if made is not None and made != point.made:
            raise Refused("invalid_token")
        if any(sent.point == number and sent.key == key for sent in run.signals):
            return "duplicate"
        if run.state == "suspended" and self._passed(run.timer):
            self._fire(run)
        if not point.lives(self.now):
            raise Refused("waitpoint_closed")
        if made is not None and point.uses is not None and point.used >= point.uses:
            raise Refused("token_used_up")
        seen = Seen(waitpoint=point.name, name=name, payload=payload, source=("", by))
        sent = Sent(name, number, key, seen, "buffered")
        run.signals.append(sent)
        if point.state == "open":
            assert run.wait
            self._offer(run, run.wait, len(run.signals), sent)
            if self._holds(run, run.wait):
                sent.effect = "resumed"
                self._wake(run)
        if made is not None:
            point.used += 1
        return sent.effect

    # For operators

    def cancel(self, execution_id: str) -> None:
        """Cancel it."""
        run = self._known(execution_id)
        if run.ended:
            raise Refused("already_terminal")
        self._end(run, "cancelled")

    def resume(self, execution_id: str) -> str:
        """Resume a suspended one."""
        run = self._known(execution_id)
        if run.state != "suspended":
            raise Refused("not_suspended")
        self._wake(run, "resume")
        return run.state

    def revoke(self, waitpoint: tuple[str, int]) -> str | None:
        """Close a waitpoint; returns why it is closed."""
        execution_id, number = waitpoint
        run = self.runs.get(execution_id)
        if run is None:
            raise Refused("waitpoint_not_found")
        point = run.points[number - 1]
        _close_point(point, "revoked")
        return point.why

    # Time

    def _passed(self, instant: int | None) -> bool:
        return instant is not None and instant <= self.now

    def timers(self) -> list[tuple[int, str]]:
        """Return all timers as the store keeps them: when, and what."""
        found = [(run.timer, f"x:{run.id}") for run in self.runs.values()]
        found += [
            (point.until, f"w:{run.id}~w{number}")
            for run in self.runs.values()
            for number, point in enumerate(run.points, 1)
            if point.state != "closed"
        ]
        return sorted((at, what) for at, what in found if at is not None)

    def tick(self, limit: int) -> int:
        """Fire what is due; returns how many."""
        due = [(at, what) for at, what in self.timers() if at <= self.now][:limit]
        for _, what in due:
            execution_id, _, number = what[2:].partition("~w")
            if execution_id not in self.runs:
                continue
            run = self.runs[execution_id]
            if number:
                _close_point(run.points[int(number) - 1], "expired")
            else:
                self._fire(run)
        return len(due)

    def _fire(self, run: Run) -> None:
        if run.ended:
            if self._passed(run.due):
                del self.runs[run.id]
        elif self._passed(run.deadline):
            self._end(run, "expired")
        elif run.state == "active" and self._passed(run.due):
            self._reclaim(run)
        elif run.state == "suspended" and self._passed(run.due):
            self._end_wait(run)
        elif run.state == "delayed" and self._passed(run.due):
            run.state, run.due = "waiting", None

    def _reclaim(self, run: Run) -> None:
        run.reclaims += 1
        run.fence = None
        if run.reclaims > MOST_RECLAIMS:
            self._end(run, "failed")
        elif run.reclaims == 1:
            run.state, run.due = "waiting", None
        else:
            wait_ms = min(60_000, 1_000 * 2 ** (run.reclaims - 2))
            run.state, run.due = "delayed", self.now + wait_ms

    def _end_wait(self, run: Run) -> None:
        wait = run.wait
        assert wait
        if self._holds(run, wait):
            self._wake(run)
        elif not self._passed(wait.until):
            self._rearm(run, wait)
        elif wait.on_timeout == "resume":
            self._wake(run, "timeout")
        elif wait.on_timeout == "escalate":
            wait.until = None
            self._rearm(run, wait)
        else:
            self._end(run, ENDS[wait.on_timeout])

    def _end(self, run: Run, state: str) -> None:
        for point in run.points:
            _close_point(point, "ended")
        run.state, run.due, run.open, run.resumed = state, self.now + KEEP_MS, False, False


def _close_point(point: Point, why: str) -> None:
    if point.state != "closed":
        point.state, point.why = "closed", why


def payload_of(value: Any) -> bytes:
    """Encode a payload."""
    return msgspec.json.encode(value)

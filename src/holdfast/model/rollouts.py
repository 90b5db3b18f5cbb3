"""Rollouts: a split moves to a new revision step by step, as long as its guards pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

import msgspec

from holdfast.model import bounds, checks
from holdfast.model.deployments import WHOLE_BPS, DeploymentRef, SplitEntry
from holdfast.model.executions import NewExecution
from holdfast.model.figures import Figures, Histogram
from holdfast.model.guards import Guards, Judgement, Verdict
from holdfast.model.names import stored_id

#: The executions that carry rollouts out.
KIND = "holdfast.rollout"
LANE = "holdfast.rollouts"

#: A step is looked at ten times, within these bounds.
_LOOKS = 10
_LOOK_MIN_MS = 500
_LOOK_MAX_MS = 10_000


class RolloutState(StrEnum):
    """How far a rollout is."""

    RUNNING = "running"
    #: It stays in its step until it is continued, promoted or aborted.
    PAUSED = "paused"
    #: All new sessions go to the new revision.
    COMPLETED = "completed"
    #: It ended before; `reason` says why.
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A share of the new sessions, and how long the new revision is watched with it."""

    weight_bps: int
    duration_ms: int = 0

    def __post_init__(self) -> None:
        checks.integer("weight_bps", self.weight_bps, 1, WHOLE_BPS)
        checks.integer("duration_ms", self.duration_ms, 0, bounds.ROLLOUT_STEP_MS)


def check_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Check the steps of a rollout; the last one gives everything to the new revision."""
    checks.integer("steps", len(steps), 1, bounds.ROLLOUT_STEPS)
    for step in steps:
        checks.instance("steps", step, Step)
    weights = [step.weight_bps for step in steps]
    if any(later <= earlier for earlier, later in pairwise(weights)):
        checks.refuse("steps", "must have weights that increase", weights)
    if weights[-1] != WHOLE_BPS:
        checks.refuse("steps", f"must end with the weight {WHOLE_BPS}", weights)
    return tuple(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRollout:
    """A rollout to start."""

    id: str
    ref: DeploymentRef
    #: The new revision.
    revision: str
    steps: Sequence[Step]
    guards: Guards
    #: Only if the split still has this generation.
    expected_generation: int | None

    def __post_init__(self) -> None:
        checks.name("revision", self.revision)
        object.__setattr__(self, "steps", check_steps(self.steps))
        checks.instance("guards", self.guards, Guards)
        if self.expected_generation is not None:
            checks.integer("expected_generation", self.expected_generation, 0, bounds.AMOUNT)
        checks.name("id", self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """A rollout of a revision."""

    id: str
    env: str
    tenant: str
    deployment: str
    #: The new revision.
    revision: str
    steps: tuple[Step, ...]
    guards: Guards
    state: RolloutState
    #: The step that it is in, from 1.
    step: int
    #: The generation of the split that it has set; another one means that it has changed.
    generation: int
    #: The split before, which an abort returns to.
    before: tuple[SplitEntry, ...]
    #: The turns of the old revisions in the hour before.
    earlier: Histogram = field(default_factory=Histogram)
    started_at: datetime
    #: When the step began; a pause moves it.
    step_at: datetime
    paused_at: datetime | None = None
    ended_at: datetime | None = None
    #: Why it waits, paused or ended.
    reason: str = ""
    #: Whether an abort has returned to the split before.
    rolled_back: bool = False
    #: What the guards said when they were last asked.
    verdict: Verdict = Verdict.UNDECIDED
    #: The turns of the new revision in this step, and those of the old ones.
    new: Figures | None = None
    old: Figures | None = None
    #: Who started it, as far as it is known.
    by: str = ""
    #: Goes up with every change.
    version: int = 1

    @property
    def ref(self) -> DeploymentRef:
        """The name of its deployment."""
        return DeploymentRef(env=self.env, id=self.deployment, tenant=self.tenant)

    @property
    def execution(self) -> str:
        """The id of the execution that carries it out."""
        return stored_id(self.tenant, self.id)

    @property
    def is_over(self) -> bool:
        """Whether nothing happens any more."""
        return self.state in (RolloutState.COMPLETED, RolloutState.ABORTED)

    @property
    def old_revisions(self) -> tuple[str, ...]:
        """The revisions that the new one is compared with."""
        routed = [entry.revision for entry in self.before if entry.weight_bps > 0]
        return tuple(one for one in routed if one != self.revision)

    def left_ms(self, now: datetime) -> int:
        """Return how long the step still lasts; at least 0."""
        ends = self.step_at + timedelta(milliseconds=self.steps[self.step - 1].duration_ms)
        return max(-((now - ends) // timedelta(milliseconds=1)), 0)

    def look_ms(self, now: datetime) -> int:
        """Return after which time to look at it again."""
        duration_ms = self.steps[self.step - 1].duration_ms
        look = min(max(duration_ms // _LOOKS, _LOOK_MIN_MS), _LOOK_MAX_MS)
        left = self.left_ms(now)
        return min(look, left) if self.state is RolloutState.RUNNING and left else look


@dataclass(frozen=True, slots=True)
class Change:
    """What a rollout becomes, and the split that it needs; None leaves the split as it is."""

    rollout: Rollout
    event: str
    entries: tuple[SplitEntry, ...] | None = None


def entries_at(
    before: Sequence[SplitEntry], revision: str, weight_bps: int
) -> tuple[SplitEntry, ...]:
    """Return the split that gives a revision a weight; the others share the rest as before."""
    others = {one.revision: one.weight_bps for one in before if one.revision != revision}
    rest, total = WHOLE_BPS - weight_bps, sum(others.values())
    shares = {name: weight * rest // total for name, weight in others.items()} if total else {}
    # What the division left over, to those that lost most by it.
    by_loss = sorted(shares, key=lambda name: (-(others[name] * rest % total), name))
    for name in by_loss[: rest - sum(shares.values())]:
        shares[name] += 1
    shares[revision] = weight_bps
    return tuple(
        SplitEntry(revision=name, weight_bps=weight) for name, weight in sorted(shares.items())
    )


def next_change(rollout: Rollout, now: datetime, judgement: Judgement) -> Change | None:
    """Return what happens to a rollout that runs; None: nothing yet."""
    if judgement.verdict is Verdict.BREACHED:
        return aborted(rollout, now, judgement.reason)
    if rollout.left_ms(now) > 0 or judgement.verdict is Verdict.UNDECIDED:
        return None
    if rollout.step == len(rollout.steps):
        done = replace(rollout, state=RolloutState.COMPLETED, ended_at=now, reason="")
        return Change(done, "rollout_completed")
    step = rollout.steps[rollout.step]
    moved = replace(
        rollout,
        step=rollout.step + 1,
        step_at=now,
        reason="",
        generation=rollout.generation + 1,
    )
    entries = entries_at(rollout.before, rollout.revision, step.weight_bps)
    return Change(moved, "rollout_step", entries)


def aborted(rollout: Rollout, now: datetime, reason: str) -> Change:
    """Return the end of a rollout that returns to the split before."""
    ended = replace(
        rollout,
        state=RolloutState.ABORTED,
        ended_at=now,
        reason=reason,
        rolled_back=True,
        generation=rollout.generation + 1,
    )
    return Change(ended, "rollout_aborted", rollout.before)


def given_up(rollout: Rollout, now: datetime, reason: str) -> Change:
    """Return the end of a rollout that leaves the split as it is."""
    ended = replace(rollout, state=RolloutState.ABORTED, ended_at=now, reason=reason)
    return Change(ended, "rollout_aborted")


def promoted(rollout: Rollout, now: datetime) -> Change:
    """Return the end of a rollout that gives everything to the new revision at once."""
    is_whole = rollout.steps[rollout.step - 1].weight_bps == WHOLE_BPS
    done = replace(
        rollout,
        state=RolloutState.COMPLETED,
        ended_at=now,
        reason="promoted by hand",
        step=len(rollout.steps),
        generation=rollout.generation + (0 if is_whole else 1),
    )
    entries = entries_at(rollout.before, rollout.revision, WHOLE_BPS)
    return Change(done, "rollout_promoted", None if is_whole else entries)


def paused(rollout: Rollout, now: datetime, reason: str) -> Change:
    """Return a rollout that stays in its step."""
    held = replace(rollout, state=RolloutState.PAUSED, paused_at=now, reason=reason)
    return Change(held, "rollout_paused")


def continued(rollout: Rollout, now: datetime) -> Change:
    """Return a rollout that goes on; the pause does not count as time of its step."""
    pause = now - (rollout.paused_at or now)
    going = replace(
        rollout,
        state=RolloutState.RUNNING,
        paused_at=None,
        reason="",
        step_at=rollout.step_at + pause,
    )
    return Change(going, "rollout_continued")


class Errand(msgspec.Struct, frozen=True):
    """The input of the execution of a rollout: which one it carries out."""

    env: str
    deployment: str
    rollout: str


def errand_of(rollout: Rollout) -> NewExecution:
    """Return the execution that carries a rollout out; the same for the same rollout."""
    errand = Errand(rollout.env, rollout.deployment, rollout.id)
    return NewExecution(
        kind=KIND,
        lane=LANE,
        id=rollout.execution,
        tenant=rollout.tenant,
        input=msgspec.json.encode(errand),
        max_reclaims=bounds.MAX_RECLAIMS,
        tags={"deployment": rollout.deployment, "env": rollout.env},
    )

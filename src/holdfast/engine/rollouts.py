"""Rollouts of a store: every operation, checked at its entry, and one look at a rollout."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import reduce
from operator import add
from typing import final

from typing_extensions import override

from holdfast.api import rollouts
from holdfast.errors import (
    HoldfastError,
    NoSplit,
    RevisionNotFound,
    RevisionNotReady,
    RolloutActive,
    RolloutOver,
    StaleGeneration,
    StaleRollout,
)
from holdfast.model import bounds, checks
from holdfast.model.deployments import Deployment, DeploymentRef, Split
from holdfast.model.figures import WINDOW_MS, Histogram
from holdfast.model.guards import Judgement, judge
from holdfast.model.ids import new_id
from holdfast.model.rollouts import (
    Change,
    NewRollout,
    Rollout,
    RolloutState,
    Step,
    aborted,
    continued,
    entries_at,
    errand_of,
    given_up,
    next_change,
    paused,
    promoted,
)
from holdfast.outages import level
from holdfast.store import actors
from holdfast.store.deployments import revision_in
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: Rollouts of a deployment that the store remembers.
_REMEMBERED = 20
_WINDOW = timedelta(milliseconds=WINDOW_MS)

Decision = Callable[[Rollout, datetime], Change | None]


@final
class Rollouts(rollouts.Rollouts):
    """Operations on rollouts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rollouts = store.rollouts

    @override
    async def _start(self, new: NewRollout) -> Rollout:
        ref, revision_id, plan = new.ref, new.revision, new.steps
        now, known = await self._rollouts.page(ref, _REMEMBERED)
        for one in known:
            if one.id == new.id and one.revision == revision_id:
                return one
            if not one.is_over:
                under_way = f"deployment {ref.id} is in the rollout {one.id}"
                message = f"{under_way}: wait until it is over, or abort it"
                raise RolloutActive(message, id=ref.id, rollout=one.id)
        deployment = await self._store.deployments.get(ref)
        expected = new.expected_generation
        if expected is None:
            expected = deployment.split.generation
        _check_start(deployment, revision_id, plan[0])
        rollout = Rollout(
            id=new.id,
            env=deployment.env,
            tenant=deployment.tenant,
            deployment=deployment.id,
            revision=revision_id,
            steps=tuple(plan),
            guards=new.guards,
            state=RolloutState.RUNNING,
            step=1,
            generation=expected + 1,
            before=deployment.split.entries,
            started_at=now,
            step_at=now,
            by=actors.current(),
        )
        tenant, old = rollout.tenant, rollout.old_revisions
        rollout = replace(rollout, earlier=await self._turns(tenant, old, now - _WINDOW))
        entries = entries_at(rollout.before, revision_id, plan[0].weight_bps)
        started = await self._rollouts.start(rollout, entries, expected=expected)
        await self.employ(started)
        return started

    async def employ(self, rollout: Rollout) -> None:
        """Create the execution that carries a rollout out, unless it exists."""
        (answer,) = await self._store.executions.create([errand_of(rollout)])
        if isinstance(answer, HoldfastError):
            # Rollers create the executions that are missing.
            log.log(level(answer), "rollout %s has no execution yet: %s", rollout.id, answer)

    @override
    async def get(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        now, rollout = await self._read(ref, rollout_id)
        return rollout if rollout.is_over else (await self._judged(rollout, now))[0]

    @override
    async def list(self, ref: DeploymentRef, *, limit: int = 20) -> builtins.list[Rollout]:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        _, found = await self._rollouts.page(ref, limit)
        return found

    @override
    async def pause(self, ref: DeploymentRef, rollout_id: str, *, reason: str = "") -> Rollout:
        checks.text("reason", reason, bounds.REASON_CHARS)

        def decide(rollout: Rollout, now: datetime) -> Change | None:
            is_paused = rollout.state is RolloutState.PAUSED
            return None if is_paused else paused(rollout, now, reason or "paused by hand")

        return await self._change(ref, rollout_id, decide)

    @override
    async def resume(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        def decide(rollout: Rollout, now: datetime) -> Change | None:
            return continued(rollout, now) if rollout.state is RolloutState.PAUSED else None

        return await self._change(ref, rollout_id, decide)

    @override
    async def promote(self, ref: DeploymentRef, rollout_id: str) -> Rollout:
        return await self._change(ref, rollout_id, promoted, settled=RolloutState.COMPLETED)

    @override
    async def abort(self, ref: DeploymentRef, rollout_id: str, *, reason: str = "") -> Rollout:
        checks.text("reason", reason, bounds.REASON_CHARS)
        why = reason or "aborted by hand"
        return await self._change(
            ref,
            rollout_id,
            lambda rollout, now: aborted(rollout, now, why),
            settled=RolloutState.ABORTED,
            instead=lambda rollout, now, problem: given_up(rollout, now, f"{why}; {problem}"),
        )

    async def look(self, ref: DeploymentRef, rollout_id: str) -> tuple[datetime, Rollout]:
        """Judge a rollout and move it as its guards say; return it and the time of the store."""
        while True:
            now, rollout = await self._read(ref, rollout_id)
            if rollout.state is not RolloutState.RUNNING:
                return now, rollout
            split = (await self._store.deployments.get(ref)).split
            if split.generation != rollout.generation:
                change: Change | None = given_up(rollout, now, _taken_over(split))
            else:
                seen, judgement = await self._judged(rollout, now)
                change = next_change(seen, now, judgement)
            if change is None:
                return now, rollout
            try:
                return now, await self._move(rollout, change, now)
            except (StaleRollout, StaleGeneration):
                # It, or the split, has changed since it was read.
                continue

    async def _move(self, rollout: Rollout, change: Change, now: datetime) -> Rollout:
        """Carry a change out; without the split that it needs, the rollout ends."""
        try:
            return await self._rollouts.move(rollout, change, new_id())
        except (RevisionNotReady, RevisionNotFound) as error:
            reason = f"{change.rollout.reason}; {_stays(error)}".removeprefix("; ")
            return await self._rollouts.move(rollout, given_up(rollout, now, reason), new_id())

    async def _change(
        self,
        ref: DeploymentRef,
        rollout_id: str,
        decide: Decision,
        *,
        settled: RolloutState | None = None,
        instead: Callable[[Rollout, datetime, str], Change] | None = None,
    ) -> Rollout:
        """Change a rollout as a person wants it; `instead` is what happens without its split."""
        problem = ""
        while True:
            now, rollout = await self._read(ref, rollout_id)
            if rollout.state is settled:
                return rollout
            if rollout.is_over:
                message = f"rollout {rollout_id} is {rollout.state}: {rollout.reason}"
                raise RolloutOver(message, id=rollout_id, state=rollout.state)
            seen, _ = await self._judged(rollout, now)
            change = instead(seen, now, problem) if instead and problem else decide(seen, now)
            if change is None:
                return rollout
            try:
                return await self._rollouts.move(rollout, change, new_id())
            except StaleRollout:
                continue
            except (StaleGeneration, RevisionNotReady, RevisionNotFound) as error:
                if instead is None:
                    raise
                problem = _stays(error)

    async def _read(self, ref: DeploymentRef, rollout_id: str) -> tuple[datetime, Rollout]:
        return await self._rollouts.get(ref, checks.name("rollout", rollout_id))

    async def _judged(self, rollout: Rollout, now: datetime) -> tuple[Rollout, Judgement]:
        """Return a rollout with the figures of its step, and what its guards say."""
        since = max(rollout.step_at, now - _WINDOW)
        new = await self._turns(rollout.tenant, [rollout.revision], since)
        old = await self._turns(rollout.tenant, rollout.old_revisions, since)
        judgement = judge(rollout.guards, new, old, rollout.earlier)
        judged = replace(
            rollout,
            new=new.summary(since),
            old=old.summary(since),
            verdict=judgement.verdict,
            reason=rollout.reason or judgement.reason,
        )
        return judged, judgement

    async def _turns(self, tenant: str, revisions: Sequence[str], since: datetime) -> Histogram:
        counted = await self._store.deployments.turns(tenant, revisions, since)
        return reduce(add, counted, Histogram())


def _check_start(deployment: Deployment, revision_id: str, first: Step) -> None:
    revision_in(deployment, revision_id)
    if not deployment.split.entries:
        message = f"deployment {deployment.id} routes nowhere yet: set its split"
        raise NoSplit(message, id=deployment.id)
    weights = {entry.revision: entry.weight_bps for entry in deployment.split.entries}
    if weights.get(revision_id, 0) >= first.weight_bps:
        has = f"must begin above the weight of the revision, {weights[revision_id]}"
        checks.refuse("steps", has, first.weight_bps)


def _taken_over(split: Split) -> str:
    who = f" by {split.by}" if split.by else ""
    return f"the split was changed{who} (generation {split.generation}); it stays as it is"


def _stays(error: HoldfastError) -> str:
    return f"{error}; the split stays as it is"

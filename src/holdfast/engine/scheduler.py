"""The scheduler: fires schedules that are due. Any number of processes may run it.

The store reports when a schedule is due; this module works out its ticks and the next one. A step
succeeds only from the schedule's current tick, so each tick is fired once, by the first process.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate

from holdfast.errors import HoldfastError, ScheduleMoved
from holdfast.model import bounds
from holdfast.model.schedules import GRACE_MS, Schedule
from holdfast.outages import level
from holdfast.store import channels
from holdfast.store.schedules import Step
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

SCHEDULES_IN_LOOK = 20
#: A look ends after this many schedules took no step; when the store is full, all fail.
_MOST_STUCK = 200
_STEPS_IN_CALL = 100
_BYTES_IN_CALL = 1 << 20
_PAUSE_AFTER_ERROR_S = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The work for a schedule that is due."""

    #: The ticks to fire, and how many earlier ones are not fired.
    fire: list[int]
    missed: int
    #: The tick that comes afterwards.
    next: int | None


def plan_of(schedule: Schedule, now_ms: int) -> Plan | None:
    """Work out the plan of a schedule; None if nothing is due."""
    if schedule.next_ms is None:
        return None
    plan, timing = schedule.plan, schedule.plan.timing
    ticks = timing.ticks(schedule.next_ms, now_ms, bounds.CATCH_UP)
    # Ticks fire in order: one waits behind an earlier one that jitter delays for longer.
    dues = list(accumulate(map(plan.due, ticks), max))
    first = ticks[0] if ticks else None
    del ticks[bisect_right(dues, now_ms) :]
    if not ticks:
        # Of very many ticks only the last ones are examined, and these are delayed.
        return None if first in {None, schedule.next_ms} else Plan([], 0, first)
    dues = dues[: len(ticks)]
    after = timing.following(ticks[-1])
    keep = plan.catch_up_limit if plan.catch_up == "all" else 1
    if plan.catch_up == "none" and now_ms - dues[-1] > GRACE_MS:
        keep = 0
    # Ticks that jitter brought together were not missed.
    keep = max(keep, len(dues) - bisect_left(dues, now_ms - min(plan.jitter_ms, GRACE_MS)))
    fire = ticks[len(ticks) - min(keep, len(ticks)) :]
    return Plan(fire, len(ticks) - len(fire), after)


def steps_of(start: int, plan: Plan) -> list[Step]:
    """Return the steps that fire the ticks of a plan one after the other."""
    steps = []
    for index, tick in enumerate(plan.fire):
        following = plan.fire[index + 1] if index + 1 < len(plan.fire) else plan.next
        missed = plan.missed if index == 0 else 0
        steps.append(Step(start=start, tick=tick, next=following, missed=missed))
        start = tick if following is None else following
    return steps


class Firing:
    """Fires the schedules of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def run_due(self, tag: str) -> int:
        """Fire the due schedules of a partition; returns how many took a step."""
        moved = 0
        #: Those that took no step stay due; others are read beyond them.
        stuck: set[str] = set()
        while True:
            limit = SCHEDULES_IN_LOOK + len(stuck)
            now_ms, due = await self._store.schedules.due(tag, limit)
            fresh = [schedule for schedule in due if schedule.plan.stored_id not in stuck]
            took = await asyncio.gather(*(self.fire(schedule, now_ms) for schedule in fresh))
            moved += sum(took)
            stuck |= {
                schedule.plan.stored_id
                for schedule, stepped in zip(fresh, took, strict=True)
                if not stepped
            }
            if len(due) < limit or not fresh or len(stuck) >= _MOST_STUCK:
                return moved

    async def fire(self, schedule: Schedule, now_ms: int) -> bool:
        """Carry out the plan of a schedule; returns whether it took a step."""
        try:
            plan = plan_of(schedule, now_ms)
            if plan is None or schedule.next_ms is None:
                return False
            if plan.fire:
                whole = await self.completed(schedule)
                await self._take(whole, steps_of(schedule.next_ms, plan))
            else:
                await self._store.schedules.skip(schedule, schedule.next_ms, plan.next, plan.missed)
        except ScheduleMoved:
            # Another process was faster, or the schedule was changed; it is examined again.
            return False
        except HoldfastError as error:
            log.log(level(error), "cannot fire schedule %s yet: %s", schedule.id, error)
            return False
        except Exception:
            # A fault of one schedule must not stop the others.
            log.exception("cannot fire schedule %s", schedule.id)
            return False
        return True

    async def completed(self, schedule: Schedule) -> Schedule:
        """Complete an execution with its task's declaration; its input was checked before."""
        execution = schedule.plan.execution
        whole = await self._store.declarations.completed(execution, check=False)
        if whole is execution:
            return schedule
        return replace(schedule, plan=replace(schedule.plan, execution=whole))

    async def _take(self, schedule: Schedule, steps: list[Step]) -> None:
        size = max(1, len(schedule.plan.execution.input))
        chunk = max(1, min(_STEPS_IN_CALL, _BYTES_IN_CALL // size))
        while steps:
            answers = await self._store.schedules.fire(schedule, steps[:chunk])
            for step, answer in zip(steps, answers, strict=False):
                if answer in ("created", "duplicate", "skipped"):
                    continue
                if answer == "schedule_moved":
                    raise ScheduleMoved(
                        f"schedule {schedule.id} has passed this tick", id=schedule.id
                    )
                # It cannot be created, for example on a draining lane: skip the tick and continue.
                log.warning("schedule %s: tick %s was refused: %s", schedule.id, step.tick, answer)
                missed = step.missed + 1
                await self._store.schedules.skip(schedule, step.start, step.next, missed, answer)
                steps = steps[steps.index(step) + 1 :]
                break
            else:
                steps = steps[chunk:]


class Scheduler:
    """Fires schedules for as long as `run` runs; the store notifies it when one is due."""

    name = "scheduler"

    def __init__(self, store: Store) -> None:
        self._store = store
        self._firing = Firing(store)
        self._channels = {channels.schedules(tag): tag for tag in store.tags()}
        #: Partitions that may have a due schedule.
        self._waiting = set(store.tags())
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Fire until cancelled."""
        await self._store.subscriptions.add(self._channels, self._on_due)
        try:
            while True:
                self._woken.clear()
                tags, self._waiting = self._waiting, set()
                await asyncio.gather(*(self._look(tag) for tag in tags))
                await self._woken.wait()
        finally:
            await self._store.subscriptions.remove(self._channels, self._on_due)

    def _on_due(self, channel: str, _message: str) -> None:
        self._waiting.add(self._channels[channel])
        self._woken.set()

    async def _look(self, tag: str) -> None:
        try:
            await self._firing.run_due(tag)
        except HoldfastError as error:
            # The store repeats the notification as long as a schedule is due.
            log.log(
                level(error),
                "cannot read the due schedules: %s",
                error,
                extra={"partition": tag},
            )

"""Schedules: create, change, pause, trigger, ask."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from holdfast.engine.scheduler import Firing
from holdfast.errors import ScheduleChanged, ScheduleConflict, ScheduleNotFound
from holdfast.model import checks, limits
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.ids import id_of_key, new_id
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.schedules import NewSchedule, Schedule, SchedulePage
from holdfast.store.store import Store

#: A change that meets another one is worked out anew, this often.
_TRIES = 10


class Schedules:
    """Operations on schedules."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._schedules = store.schedules
        self._firing = Firing(store)

    async def create(self, plan: NewSchedule) -> tuple[Schedule, bool]:
        """Create a schedule; returns it, and whether it is new.

        Raises:
            ScheduleConflict: its id belongs to one that says something else.
        """
        checks.instance("schedule", plan, NewSchedule)
        now_ms, old = await self._schedules.read(plan.id)
        if old is None or old.plan.execution != plan.execution:
            await self._store.declarations.completed(plan.execution)
        answer = await self._schedules.put(plan, None, _first(plan, now_ms))
        return await self.get(plan.id), answer == "created"

    async def put(self, plan: NewSchedule) -> Schedule:
        """Create a schedule, or have it say something else; one that is paused stays so."""
        try:
            found, _ = await self.create(plan)
        except ScheduleConflict:
            return await self._change(plan.id, lambda old: replace(plan, paused=old.plan.paused))
        return found

    async def update(self, schedule_id: str, changes: Mapping[str, Any]) -> Schedule:
        """Change some fields, such as {"cron": "0 6 * * *"} or {"paused": True}.

        The tick at which it stands stays the same, unless its timing changes or it was paused.
        """
        checks.mapping("changes", changes)
        if isinstance(changes.get("execution"), NewExecution):
            await self._store.declarations.completed(changes["execution"])
        return await self._change(schedule_id, lambda old: old.plan.changed(changes))

    async def pause(self, schedule_id: str) -> Schedule:
        """Fire no more ticks until it is resumed; what was fired goes on."""
        return await self.update(schedule_id, {"paused": True})

    async def resume(self, schedule_id: str) -> Schedule:
        """Go on with the next tick from now; those since the pause are not made up for."""
        return await self.update(schedule_id, {"paused": False})

    async def _change(self, schedule_id: str, change: Any) -> Schedule:
        checks.name("id", schedule_id)
        for _ in range(_TRIES):
            now_ms, old = await self._schedules.read(schedule_id)
            if old is None:
                raise _not_found(schedule_id)
            plan: NewSchedule = change(old)
            if plan == old.plan:
                return old
            next_ms = old.next_ms
            if plan.paused:
                next_ms = None
            elif old.plan.paused or plan.timing != old.plan.timing:
                next_ms = plan.timing.next_after(now_ms, old.anchor_ms)
            try:
                await self._schedules.put(plan, old.version, next_ms)
            except ScheduleChanged:
                continue
            return await self.get(schedule_id)
        raise ScheduleChanged(f"schedule {schedule_id} is changed all the time", id=schedule_id)

    async def get(self, schedule_id: str) -> Schedule:
        """Return what is known of a schedule."""
        checks.name("id", schedule_id)
        _, found = await self._schedules.read(schedule_id)
        if found is None:
            raise _not_found(schedule_id)
        return found

    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        """Return a page of schedules, by id."""
        checks.integer("limit", limit, 1, limits.PAGE_ITEMS)
        if tenant is not None:
            checks.name("tenant", tenant)
        after = "" if cursor is None else checks.name("cursor", cursor)
        items: builtins.list[Schedule] = []
        more = True
        while more and len(items) <= limit:
            found, more = await self._schedules.page(after, limit)
            items += [one for one in found if tenant in (None, one.tenant)]
            after = found[-1].id if found else after
        more = len(items) > limit
        items = items[:limit]
        return SchedulePage(items=tuple(items), next_cursor=items[-1].id if more else None)

    async def delete(self, schedule_id: str) -> None:
        """Remove a schedule; what it has fired goes on."""
        checks.name("id", schedule_id)
        if not await self._schedules.remove(schedule_id):
            raise _not_found(schedule_id)

    async def trigger(self, schedule_id: str, *, key: str | None = None) -> Submitted:
        """Fire now, besides its ticks, also when it is paused; the same key does so once."""
        if key is not None:
            checks.text("key", key, limits.ID_CHARS, empty=False)
        schedule = await self.get(schedule_id)
        name = new_id() if key is None else id_of_key(schedule_id, key)
        whole = await self._firing.completed(schedule)
        return await self._schedules.trigger(whole, f"now.{name}")

    async def next_times(self, schedule_id: str, count: int = 10) -> builtins.list[datetime]:
        """Return when it fires next, jitter included; of a paused one, when it would."""
        checks.integer("count", count, 1, limits.FIRE_TIMES)
        now_ms, found = await self._schedules.read(checks.name("id", schedule_id))
        if found is None:
            raise _not_found(schedule_id)
        timing = found.plan.timing
        tick = timing.next_after(now_ms, found.anchor_ms) if found.plan.paused else found.next_ms
        times: builtins.list[datetime] = []
        while tick is not None and len(times) < count:
            times.append(from_ms(found.plan.due(tick)))
            tick = timing.following(tick)
        return times

    async def run_due(self) -> int:
        """Fire what is due now; returns how many schedules took a step.

        The maintenance of a process does this by itself, when it is told.
        """
        moved = 0
        for tag in self._store.tags():
            moved += await self._firing.run_due(tag)
        return moved


def _first(plan: NewSchedule, now_ms: int) -> int | None:
    """Return the first tick of a new schedule."""
    if plan.paused:
        return None
    if plan.timing.at is not None:
        # Also one that has passed: `catch_up` says what becomes of it.
        return to_ms(plan.timing.at)
    return plan.timing.next_after(now_ms, now_ms)


def _not_found(schedule_id: str) -> ScheduleNotFound:
    return ScheduleNotFound(f"no schedule has the id {schedule_id}", id=schedule_id)

"""Schedules: create, change, pause, trigger, ask."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from typing_extensions import override

from holdfast import api
from holdfast.engine.scheduler import Firing
from holdfast.errors import ScheduleChanged, ScheduleConflict, ScheduleNotFound
from holdfast.model import bounds, calls, checks, names
from holdfast.model.executions import NewExecution, Submitted
from holdfast.model.ids import id_of_key, new_id
from holdfast.model.moments import from_ms, to_ms
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.schedules import NewSchedule, Schedule, SchedulePage
from holdfast.store.store import Store

#: How often a change is worked out again after a concurrent one.
_TRIES = 10


class Schedules(api.Schedules):
    """Operations on schedules."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._schedules = store.schedules
        self._firing = Firing(store)

    @override
    async def create(self, plan: NewSchedule) -> tuple[Schedule, bool]:
        checks.instance("schedule", plan, NewSchedule)
        tenant = plan.execution.tenant
        now_ms, old = await self._schedules.read(plan.stored_id)
        if old is None or old.plan.execution != plan.execution:
            await self._store.declarations.completed(plan.execution)
        answer = await self._schedules.put(plan, None, _first(plan, now_ms))
        return await self.get(plan.id, tenant=tenant), answer == "created"

    @override
    async def put(self, plan: NewSchedule) -> Schedule:
        try:
            found, _ = await self.create(plan)
        except ScheduleConflict:
            tenant = plan.execution.tenant
            return await self._change(
                plan.id, tenant, lambda old: replace(plan, paused=old.plan.paused)
            )
        return found

    @override
    async def update(
        self, schedule_id: str, changes: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Schedule:
        checks.mapping("changes", changes)
        if isinstance(changes.get("execution"), NewExecution):
            await self._store.declarations.completed(changes["execution"])
        return await self._change(schedule_id, tenant, lambda old: old.plan.changed(changes))

    async def _change(self, schedule_id: str, tenant: str, change: Any) -> Schedule:
        for _ in range(_TRIES):
            now_ms, old = await self._read(schedule_id, tenant)
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
            return await self.get(schedule_id, tenant=tenant)
        raise ScheduleChanged(f"schedule {schedule_id} keeps changing; try again", id=schedule_id)

    @override
    async def get(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        _, schedule = await self._read(schedule_id, tenant)
        return schedule

    async def _read(self, schedule_id: str, tenant: str) -> tuple[int, Schedule]:
        """Return the time of the store in ms, and a schedule."""
        now_ms, schedule = await self._schedules.read(_stored(schedule_id, tenant))
        if schedule is None:
            raise _not_found(schedule_id)
        return now_ms, schedule

    @override
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        calls.check_page(limit, tenant)
        prefix = "" if tenant is None else names.stored_schedule(tenant, "")
        after = prefix if cursor is None else checks.stored_schedule("cursor", cursor)
        items: builtins.list[Schedule] = []
        more = True
        while more and len(items) <= limit:
            page, more = await self._schedules.page(after, limit)
            items += [schedule for schedule in page if tenant in (None, schedule.tenant)]
            after = page[-1].plan.stored_id if page else after
            # The ids of a tenant are consecutive, except those of `default`.
            more = more and after.startswith(prefix)
        more = len(items) > limit
        items = items[:limit]
        following = items[-1].plan.stored_id if more else None
        return SchedulePage(items=tuple(items), next_cursor=following)

    @override
    async def delete(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        if not await self._schedules.remove(_stored(schedule_id, tenant)):
            raise _not_found(schedule_id)

    @override
    async def trigger(
        self, schedule_id: str, *, key: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Submitted:
        if key is not None:
            checks.text("key", key, bounds.ID_CHARS, empty=False)
        schedule = await self.get(schedule_id, tenant=tenant)
        name = new_id() if key is None else id_of_key(schedule_id, key)
        whole = await self._firing.completed(schedule)
        return await self._schedules.trigger(whole, f"now.{name}")

    @override
    async def next_times(
        self, schedule_id: str, count: int = 10, *, tenant: str = DEFAULT_TENANT
    ) -> builtins.list[datetime]:
        checks.integer("count", count, 1, bounds.FIRE_TIMES)
        now_ms, schedule = await self._read(schedule_id, tenant)
        timing = schedule.plan.timing
        tick = schedule.next_ms
        if schedule.plan.paused:
            tick = timing.next_after(now_ms, schedule.anchor_ms)
        times: builtins.list[datetime] = []
        while tick is not None and len(times) < count:
            times.append(from_ms(schedule.plan.due(tick)))
            tick = timing.following(tick)
        return times

    async def run_due(self) -> int:
        """Fire the schedules that are due now; returns how many took a step.

        The scheduler of a process does this when the store notifies it.
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
        # This may be a tick in the past: `catch_up` decides what happens to it.
        return to_ms(plan.timing.at)
    return plan.timing.next_after(now_ms, now_ms)


def _stored(schedule_id: str, tenant: str) -> str:
    checks.name("id", schedule_id)
    return names.stored_schedule(checks.name("tenant", tenant), schedule_id)


def _not_found(schedule_id: str) -> ScheduleNotFound:
    return ScheduleNotFound(f"no schedule has the id {schedule_id}", id=schedule_id)

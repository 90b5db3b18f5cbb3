"""Schedules: create, change, pause, trigger, read."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holdfast.model.executions import Submitted
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.schedules import NewSchedule, Schedule, SchedulePage


class Schedules(ABC):
    """Operations on schedules."""

    @abstractmethod
    async def create(self, plan: NewSchedule) -> tuple[Schedule, bool]:
        """Create a schedule; return it and whether it is new.

        The schedule belongs to the tenant of its executions.

        Raises:
            ScheduleConflict: the tenant has a schedule with this id and other content.
        """

    @abstractmethod
    async def put(self, plan: NewSchedule) -> Schedule:
        """Create a schedule, or replace its content. A paused schedule stays paused."""

    @abstractmethod
    async def update(
        self, schedule_id: str, changes: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Schedule:
        """Change some fields of a schedule, such as {"cron": "0 6 * * *"} or {"paused": True}.

        The next tick stays the same, unless the timing changes or the schedule was paused.
        """

    async def pause(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        """Pause a schedule. Executions that it has fired continue."""
        return await self.update(schedule_id, {"paused": True}, tenant=tenant)

    async def resume(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        """Resume a schedule at its next tick from now. Ticks during the pause do not fire."""
        return await self.update(schedule_id, {"paused": False}, tenant=tenant)

    @abstractmethod
    async def get(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        """Return a schedule."""

    @abstractmethod
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        """Return a page of schedules, by id."""

    @abstractmethod
    async def delete(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Remove a schedule. Executions that it has fired continue."""

    @abstractmethod
    async def trigger(
        self, schedule_id: str, *, key: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Submitted:
        """Fire a schedule now, in addition to its ticks, even if it is paused; once per key."""

    @abstractmethod
    async def next_times(
        self, schedule_id: str, count: int = 10, *, tenant: str = DEFAULT_TENANT
    ) -> builtins.list[datetime]:
        """Return the next fire times, with jitter; of a paused schedule, when it would fire."""

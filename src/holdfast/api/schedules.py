"""Schedules: create, change, pause, trigger, ask."""

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
        """Create a schedule; returns it, and whether it is new.

        It belongs to the tenant of its executions.

        Raises:
            ScheduleConflict: its id belongs to one of the tenant that says something else.
        """

    @abstractmethod
    async def put(self, plan: NewSchedule) -> Schedule:
        """Create a schedule, or have it say something else; one that is paused stays so."""

    @abstractmethod
    async def update(
        self, schedule_id: str, changes: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Schedule:
        """Change some fields, such as {"cron": "0 6 * * *"} or {"paused": True}.

        The tick at which it stands stays the same, unless its timing changes or it was paused.
        """

    async def pause(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        """Fire no more ticks until it is resumed; what was fired goes on."""
        return await self.update(schedule_id, {"paused": True}, tenant=tenant)

    async def resume(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        """Go on with the next tick from now; those since the pause are not made up for."""
        return await self.update(schedule_id, {"paused": False}, tenant=tenant)

    @abstractmethod
    async def get(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        """Return what is known of a schedule."""

    @abstractmethod
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        """Return a page of schedules, by id."""

    @abstractmethod
    async def delete(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        """Remove a schedule; what it has fired goes on."""

    @abstractmethod
    async def trigger(
        self, schedule_id: str, *, key: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Submitted:
        """Fire now, besides its ticks, also when it is paused; the same key does so once."""

    @abstractmethod
    async def next_times(
        self, schedule_id: str, count: int = 10, *, tenant: str = DEFAULT_TENANT
    ) -> builtins.list[datetime]:
        """Return when it fires next, jitter included; of a paused one, when it would."""

"""Schedules over HTTP."""

from __future__ import annotations

import base64
import builtins
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.execution_bodies import template_of
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.errors import ScheduleConflict
from holdfast.model import calls, checks
from holdfast.model.executions import OPTIONS, ExecutionId, NewExecution, Submitted
from holdfast.model.ids import new_id
from holdfast.model.moments import to_ms
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.schedules import NewSchedule, Schedule, SchedulePage
from holdfast.model.states import State
from holdfast.model.timing import Timing

_TIMING = tuple(f.name for f in fields(Timing))
_PLAIN = ("catch_up", "catch_up_limit", "overlap", "jitter_ms", "paused")


@final
class RemoteSchedules(api.Schedules):
    """Operations on schedules."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant

    @override
    async def create(self, plan: NewSchedule) -> tuple[Schedule, bool]:
        checks.instance("schedule", plan, NewSchedule)
        body = {"id": plan.id, **self._body(plan)}
        response = await self._http.send("POST", "/v1/schedules", body=body)
        return _schedule(response.content), response.created

    def _body(self, plan: NewSchedule) -> dict[str, Any]:
        timing = {name: getattr(plan.timing, name) for name in _TIMING}
        return {
            "execution": template_of(plan.execution, self._tenant),
            **{name: value for name, value in timing.items() if value is not None},
            **{name: getattr(plan, name) for name in _PLAIN},
        }

    @override
    async def put(self, plan: NewSchedule) -> Schedule:
        try:
            found, _ = await self.create(plan)
        except ScheduleConflict:
            body = self._body(plan)
            del body["paused"]
            return await self._patch(plan.id, plan.execution.tenant, body)
        return found

    @override
    async def update(
        self, schedule_id: str, changes: Mapping[str, Any], *, tenant: str = DEFAULT_TENANT
    ) -> Schedule:
        body = dict(checks.mapping("changes", changes))
        if isinstance(body.get("execution"), NewExecution):
            body["execution"] = template_of(body["execution"], self._tenant)
        return await self._patch(schedule_id, tenant, body)

    async def _patch(self, schedule_id: str, tenant: str, body: Mapping[str, Any]) -> Schedule:
        where = _at(schedule_id)
        response = await self._http.send("PATCH", where, body=body, query=self._whose(tenant))
        return _schedule(response.content)

    def _whose(self, tenant: str) -> dict[str, str | None]:
        """Return the tenant to name; the tenant of the key does not have to be named."""
        return {"tenant": self._tenant if tenant == DEFAULT_TENANT else tenant}

    @override
    async def get(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> Schedule:
        query = self._whose(tenant)
        return _schedule((await self._http.send("GET", _at(schedule_id), query=query)).content)

    @override
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> SchedulePage:
        calls.check_page(limit, tenant)
        query = {"tenant": tenant or self._tenant or EVERY_TENANT, "limit": limit, "cursor": cursor}
        response = await self._http.send("GET", "/v1/schedules", query=query)
        page = _page(response.content)
        items = tuple(item.schedule() for item in page.items)
        return SchedulePage(items=items, next_cursor=page.next_cursor)

    @override
    async def delete(self, schedule_id: str, *, tenant: str = DEFAULT_TENANT) -> None:
        await self._http.send("DELETE", _at(schedule_id), query=self._whose(tenant))

    @override
    async def trigger(
        self, schedule_id: str, *, key: str | None = None, tenant: str = DEFAULT_TENANT
    ) -> Submitted:
        body = {"key": new_id() if key is None else key}
        where, query = _at(schedule_id, "trigger"), self._whose(tenant)
        reply = (await self._http.send("POST", where, body=body, query=query)).decode()
        duplicate = bool(reply.get("duplicate")) and key is not None
        return Submitted(
            id=ExecutionId(reply["id"]), state=State(reply["state"]), duplicate=duplicate
        )

    @override
    async def next_times(
        self, schedule_id: str, count: int = 10, *, tenant: str = DEFAULT_TENANT
    ) -> builtins.list[datetime]:
        where = _at(schedule_id, "next")
        reply = await self._http.get(where, count=count, **self._whose(tenant))
        return [decode.moment(text) for text in reply["items"]]


def _at(schedule_id: str, *rest: str) -> str:
    return path("schedules", checks.name("id", schedule_id), *rest)


class _Reply(msgspec.Struct, kw_only=True):
    id: str
    cron: str | None
    every_ms: int | None
    at: datetime | None
    timezone: str
    start_at: datetime | None
    execution: dict[str, msgspec.Raw]
    catch_up: str
    catch_up_limit: int
    overlap: str
    jitter_ms: int
    paused: bool
    version: int
    next_tick_at: datetime | None
    last_at: datetime | None
    last_execution: str | None
    fired: int
    skipped: int
    missed: int
    running: int
    queued: int
    error: str | None
    created_at: datetime
    changed_at: datetime

    def schedule(self) -> Schedule:
        """Return the schedule, as the engine returns it."""
        timing = Timing(**{name: getattr(self, name) for name in _TIMING})
        plain: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        known = {f.name for f in fields(Schedule)} & set(self.__struct_fields__)
        return Schedule(
            plan=NewSchedule(id=self.id, execution=_item(self.execution), timing=timing, **plain),
            next_ms=None if self.next_tick_at is None else to_ms(self.next_tick_at),
            last_ms=None if self.last_at is None else to_ms(self.last_at),
            **{name: getattr(self, name) for name in known},
        )


class _PageReply(msgspec.Struct):
    items: list[_Reply]
    next_cursor: str | None


_page = msgspec.json.Decoder(_PageReply).decode
_reply = msgspec.json.Decoder(_Reply).decode


def _schedule(data: bytes) -> Schedule:
    return _reply(data).schedule()


def _item(template: Mapping[str, msgspec.Raw]) -> NewExecution:
    """Read the execution to submit; its input stays as it was written."""
    values = {
        name: msgspec.json.decode(value) for name, value in template.items() if name != "input"
    }
    encoded = values.pop("input_base64", None)
    if encoded is None:
        encoded = base64.b64encode(bytes(template["input"])).decode()
    unset = OPTIONS - values.keys()
    return msgspec.convert({**values, "input": encoded, "unset": unset}, NewExecution)

"""Schedules: create, list, change, trigger, remove."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from holdfast import errors
from holdfast.errors import ScheduleNotFound
from holdfast.model import bounds, payloads
from holdfast.model.api_keys import Role
from holdfast.model.declarations import stated
from holdfast.model.executions import NewExecution
from holdfast.model.moments import from_ms
from holdfast.model.schedules import CatchUp, NewSchedule, Overlap, Schedule
from holdfast.server.auth import shown
from holdfast.server.auth.attachments import check_limits_exist
from holdfast.server.auth.scoping import TenantQuery
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Answer, Routes
from holdfast.server.views.bodies import CheckQuery, ExecutionBody
from holdfast.server.views.executions import SubmittedView
from holdfast.server.views.fields import (
    Body,
    Cursor,
    Key,
    Moment,
    Name,
    PageLimit,
    Query,
    Tenants,
    View,
)
from holdfast.server.views.seen import PayloadTemplate
from holdfast.server.views.times import optional, rfc3339

routes: Routes = Routes(
    "schedules", "Executions that are submitted by the clock.", names_tenant=TenantQuery
)

#: A schedule submits executions, so every role that may submit may create one.
_MAKERS = (Role.SUBMITTER, Role.OPERATOR)
_TAKING = (errors.BudgetNotFound, errors.QuotaNotFound, errors.StoreFull)

Cron = Annotated[str, Meta(min_length=1, max_length=bounds.CRON_CHARS)]
EveryMs = Annotated[int, Meta(ge=bounds.EVERY_MIN_MS, le=bounds.DURATION_MS)]
Zone = Annotated[str, Meta(min_length=1, max_length=bounds.NAME_CHARS)]
MissedTicks = Annotated[int, Meta(ge=1, le=bounds.CATCH_UP)]
JitterMs = Annotated[int, Meta(ge=0, le=bounds.JITTER_MS)]


class ChangeQuery(CheckQuery):
    """The tenant of the schedule, and whether its input is checked."""

    tenant: Name | None = None


class ChangeBody(Body):
    """The fields of a schedule. A new kind of timing replaces the old one."""

    #: As in POST /v1/executions, without `id`, `idempotency_key`, `delay_ms` and `run_at`.
    execution: ExecutionBody | UnsetType = UNSET
    #: Five cron fields: minute, hour, day of month, month, day of week.
    cron: Cron | UnsetType = UNSET
    every_ms: EveryMs | UnsetType = UNSET
    #: Fire once, at this time.
    at: Moment | UnsetType = UNSET
    #: The time zone for cron, such as Europe/Berlin; UTC if absent.
    timezone: Zone | UnsetType = UNSET
    #: The start of the interval; the creation of the schedule if absent.
    start_at: Moment | UnsetType = UNSET
    #: Which ticks to fire that were missed while no scheduler ran: none, one or all.
    catch_up: CatchUp | UnsetType = UNSET
    catch_up_limit: MissedTicks | UnsetType = UNSET
    #: What to do while an earlier execution has not ended: allow, skip or queue.
    overlap: Overlap | UnsetType = UNSET
    #: Each tick fires at random up to this much later.
    jitter_ms: JitterMs | UnsetType = UNSET
    paused: bool | UnsetType = UNSET


class ScheduleBody(ChangeBody, kw_only=True):
    """The timing, which is one of `cron`, `every_ms` and `at`, and the execution to submit."""

    id: Name
    execution: ExecutionBody


def _given(body: ChangeBody) -> dict[str, Any]:
    found = {name: getattr(body, name) for name in body.__struct_fields__}
    return {name: value for name, value in found.items() if value is not UNSET}


class ScheduleView(View):
    """A schedule."""

    id: str
    tenant: str
    cron: str | None
    every_ms: int | None
    at: str | None
    timezone: str
    start_at: str | None
    #: The execution that each tick submits, as it was given.
    execution: PayloadTemplate
    catch_up: str
    catch_up_limit: int
    overlap: str
    jitter_ms: int
    paused: bool
    version: int
    #: When it fires next, including jitter, and for which tick.
    next_at: str | None
    next_tick_at: str | None
    last_at: str | None
    last_execution: str | None
    #: The numbers of ticks fired, skipped because of overlap, and missed.
    fired: int
    skipped: int
    missed: int
    #: The numbers of executions that have not ended, and of those queued behind them.
    running: int
    queued: int
    error: str | None
    created_at: str
    changed_at: str

    @classmethod
    def of(cls, schedule: Schedule) -> ScheduleView:
        """Show a schedule."""
        plan = schedule.plan
        timing = plan.timing
        return cls(
            id=schedule.id,
            tenant=schedule.tenant,
            cron=timing.cron,
            every_ms=timing.every_ms,
            at=optional(timing.at),
            timezone=timing.timezone,
            start_at=optional(timing.start_at),
            execution=_template(plan.execution),
            catch_up=plan.catch_up,
            catch_up_limit=plan.catch_up_limit,
            overlap=plan.overlap,
            jitter_ms=plan.jitter_ms,
            paused=plan.paused,
            version=schedule.version,
            next_at=optional(schedule.next_at),
            next_tick_at=None if schedule.next_ms is None else rfc3339(from_ms(schedule.next_ms)),
            last_at=optional(schedule.last_at),
            last_execution=shown.own_or_none(schedule.last_execution),
            fired=schedule.fired,
            skipped=schedule.skipped,
            missed=schedule.missed,
            running=schedule.running,
            queued=schedule.queued,
            error=schedule.error,
            created_at=rfc3339(schedule.created_at),
            changed_at=rfc3339(schedule.changed_at),
        )


def _template(item: NewExecution) -> dict[str, Any]:
    """Return an execution in the form of a submission."""
    shown: dict[str, Any] = payloads.fields("input", item.input)
    return shown | {
        name: msgspec.to_builtins(value) for name, value in stated(item).items() if name != "input"
    }


@routes.post(
    "/v1/schedules",
    role=_MAKERS,
    status=(201, 200),
    errors=(errors.ScheduleConflict, ScheduleNotFound, *_TAKING),
    example={
        "id": "nightly",
        "cron": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "execution": {"kind": "report.make"},
    },
)
async def create(call: Call, query: CheckQuery, body: ScheduleBody) -> Answer[ScheduleView]:
    """Create a schedule. Repeating the call with the same content returns the existing one.

    The schedule belongs to the tenant of its executions.
    """
    given = _given(body)
    tenant = call.tenant_named(body.execution.tenant)
    call.tenant = tenant
    execution = query.apply(body.execution.item(tenant))
    plan = NewSchedule.from_fields({**given, "execution": execution})
    await check_limits_exist(call, [plan.execution])
    schedule, created = await call.engine.schedules.create(plan)
    return Answer(ScheduleView.of(schedule), 201 if created else 200)


class ListQuery(Query):
    """Whose schedules to list."""

    tenant: Tenants | None = None
    limit: PageLimit = 50
    cursor: Cursor | None = None


class SchedulePage(View):
    """A page of schedules, by id."""

    items: list[ScheduleView]
    next_cursor: str | None


@routes.get("/v1/schedules")
async def list_schedules(call: Call, query: ListQuery) -> SchedulePage:
    """List schedules. An operator key lists all tenants with `tenant=*`."""
    page = await call.engine.schedules.list(
        tenant=call.tenant, limit=query.limit, cursor=query.cursor
    )
    items = [ScheduleView.of(schedule) for schedule in page.items]
    return SchedulePage(items=items, next_cursor=page.next_cursor)


@routes.get("/v1/schedules/{id}", errors=(ScheduleNotFound,))
async def describe(call: Call, id: str) -> ScheduleView:
    """Read a schedule."""
    return ScheduleView.of(await call.engine.schedules.get(id, tenant=str(call.tenant)))


@routes.patch(
    "/v1/schedules/{id}",
    role=_MAKERS,
    errors=(
        ScheduleNotFound,
        errors.ScheduleChanged,
        *_TAKING,
    ),
    example={"paused": True},
)
async def change(
    call: Call,
    id: str,
    query: ChangeQuery,
    body: ChangeBody,
) -> ScheduleView:
    """Change some fields of a schedule. `paused` pauses it, or resumes it at its next tick."""
    changes = _given(body)
    if body.execution is not UNSET:
        tenant = call.tenant_named(body.execution.tenant or call.tenant)
        changes["execution"] = query.apply(body.execution.item(tenant))
        await check_limits_exist(call, [changes["execution"]])
    schedule = await call.engine.schedules.update(id, changes, tenant=str(call.tenant))
    return ScheduleView.of(schedule)


@routes.delete(
    "/v1/schedules/{id}",
    role=_MAKERS,
    status=204,
    errors=(ScheduleNotFound,),
    takes_key=True,
)
async def delete(call: Call, id: str) -> None:
    """Remove a schedule. Executions that it has fired continue."""
    await call.engine.schedules.delete(id, tenant=str(call.tenant))


class TriggerBody(Body):
    """An idempotency key: the same key fires once."""

    key: Key | None = None


@routes.post(
    "/v1/schedules/{id}/trigger",
    role=_MAKERS,
    errors=(
        ScheduleNotFound,
        errors.LaneDraining,
        errors.RevisionDraining,
        errors.IdConflict,
        *_TAKING,
    ),
    example={"key": "by-hand-17"},
)
async def trigger(
    call: Call,
    id: str,
    body: TriggerBody,
) -> SubmittedView:
    """Fire a schedule now, in addition to its ticks, even if it is paused."""
    tenant = str(call.tenant)
    return SubmittedView.of(await call.engine.schedules.trigger(id, key=body.key, tenant=tenant))


class NextQuery(TenantQuery):
    """How many times to return."""

    count: Annotated[int, Meta(ge=1, le=bounds.FIRE_TIMES)] = 10


class TimesPage(View):
    """Times, earliest first."""

    items: list[str]
    next_cursor: str | None = None


@routes.get("/v1/schedules/{id}/next", errors=(ScheduleNotFound,))
async def next_times(call: Call, id: str, query: NextQuery) -> TimesPage:
    """Read the next times at which a schedule fires, or would fire if it is paused."""
    tenant = str(call.tenant)
    times = await call.engine.schedules.next_times(id, query.count, tenant=tenant)
    return TimesPage(items=[rfc3339(moment) for moment in times])

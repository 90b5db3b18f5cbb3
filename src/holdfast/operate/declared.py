"""Limits and schedules that code declares, compared with those in the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from holdfast.errors import InvalidInput, NotFound
from holdfast.model import declared_limits, names
from holdfast.model.declared_limits import DeclaredLimit
from holdfast.model.findings import Finding, ok, warning
from holdfast.model.schedules import Schedule
from holdfast.store.engine import StoreEngine

_AT_ONCE = 100
#: The most differences in a finding, so that its length is bounded.
_MOST_SHOWN = 10
#: The tag of schedules of packs, which hosts remove themselves.
_DEPLOYMENT = "deployment"


async def limits(engine: StoreEngine) -> Finding:
    """Find quotas and budgets that differ from what the code of workers declares."""
    declared = await _declared(engine)
    differing: list[str] = []
    for start in range(0, len(declared), _AT_ONCE):
        part = declared[start : start + _AT_ONCE]
        looks = (_differences(engine, name, limit) for name, limit in part)
        differing += [line for lines in await asyncio.gather(*looks) for line in lines]
    if differing:
        fix = (
            "workers create missing limits and never change existing ones: set the limit with "
            "`holdfast quotas set` or `holdfast budgets set`, or change the code"
        )
        return warning("limits", _shortened(differing), fix)
    return ok("limits", f"{len(declared)} declared in code, as in the store")


async def schedules(engine: StoreEngine) -> Finding:
    """Find schedules that code declared once and does not declare any more."""
    published = await engine.store.tasks.everything()
    workers = await engine.workers.list()
    count, left = 0, list[str]()
    async for schedule in _stored(engine):
        count += 1
        kind, about = schedule.plan.execution.kind, f"schedule {schedule.plan.stored_id}"
        if not schedule.is_declared or _DEPLOYMENT in schedule.plan.execution.tags:
            continue
        # A tenant's own description takes precedence.
        description = published.get((schedule.tenant, kind)) or published.get((None, kind), {})
        if schedule.id not in description.get("schedules", [schedule.id]):
            left.append(f"{about}: the code of {kind} does not declare it any more")
        elif workers and not any(worker.has(kind) for worker in workers):
            left.append(f"{about}: no running worker has its task {kind}")
    if left:
        fix = "workers never remove schedules: delete those with `holdfast schedules delete ID`"
        return warning("schedules", _shortened(left), f"{fix}, or deploy the code that has them")
    return ok("schedules", f"{count}, none of them left behind by changed code")


async def _stored(engine: StoreEngine) -> AsyncIterator[Schedule]:
    cursor: str | None = None
    while True:
        page = await engine.schedules.list(limit=_AT_ONCE, cursor=cursor)
        for schedule in page.items:
            yield schedule
        cursor = page.next_cursor
        if cursor is None:
            return


def _shortened(lines: list[str]) -> str:
    rest = len(lines) - _MOST_SHOWN
    return "; ".join(lines[:_MOST_SHOWN]) + (f"; and {rest} more" if rest > 0 else "")


async def _declared(engine: StoreEngine) -> list[tuple[str, DeclaredLimit]]:
    """Return the declared limits, each once, with the names they are stored under."""
    declared = {}
    for (tenant, kind), description in (await engine.store.tasks.everything()).items():
        try:
            published = declared_limits.read(kind, description)
        except InvalidInput:
            # Another version published it.
            continue
        for limit in published:
            name = names.stored(tenant or names.DEFAULT_TENANT, limit.id)
            declared[limit.noun, name] = limit
    return [(name, limit) for (_, name), limit in sorted(declared.items())]


async def _differences(engine: StoreEngine, name: str, limit: DeclaredLimit) -> list[str]:
    about = f"{limit.noun} {name}"
    try:
        if limit.noun == "quota":
            lines = limit.differences(await engine.quotas.get(name))
        else:
            lines = limit.differences(await engine.budgets.get(name))
    except NotFound:
        return [f"{about} does not exist"]
    return [f"{about}: {line}" for line in lines]

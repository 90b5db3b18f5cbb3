"""Views for operators and consoles: the doctor, the snapshot, timelines."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from holdfast.model.api_keys import Role
from holdfast.model.listing import Filter
from holdfast.operate import snapshot, spans, timeline
from holdfast.server.auth.owners import EXECUTION
from holdfast.server.http.call import Call
from holdfast.server.http.declare import CHANGING, Routes, Scope
from holdfast.server.views.operability import (
    FindingsView,
    FindingView,
    SnapshotView,
    TimelineView,
)

routes: Routes = Routes("operability", "The doctor, snapshots and timelines.")

_MOST_CHILDREN = 100


@routes.get("/v1/doctor", role=Role.OPERATOR, scope=Scope.SYSTEM)
async def examine(call: Call) -> FindingsView:
    """Check the store: server, durability, library, memory, clock, timers, services, workers.

    The check is read-only and answers within seconds; a check that takes longer becomes a finding.
    `holdfast doctor --deep` and `--fix` need the store itself.
    """
    findings = await call.engine.operability.doctor()
    return FindingsView(findings=[FindingView.of(finding) for finding in findings])


@routes.get("/v1/snapshot", errors=CHANGING)
async def look(call: Call) -> SnapshotView:
    """Read what the store is doing: executions by state and lane, queues, workers, services.

    A key of one tenant sees only that tenant's data.
    """
    return SnapshotView.of(await snapshot.take(call.engine, tenant=call.identity.tenant))


@routes.get("/v1/executions/{id}/timeline", owner=EXECUTION)
async def of_execution(call: Call, id: str) -> TimelineView:
    """Read what an execution did when, for drawing: in line, held, running, steps, children.

    The axis of `spans` folds long idle time, so that a month of waiting does not hide a second of
    work; `axis` says which parts are folded. Only the first 100 children are shown.
    """
    execution = await call.engine.describe(id)
    (history, attempts), steps, children = await asyncio.gather(
        call.engine.store.queries.past(id),
        call.engine.steps(id),
        call.engine.list(
            Filter(tenant=execution.tenant, parent=id, oldest=True), limit=_MOST_CHILDREN
        ),
    )
    now = datetime.now(UTC)
    found = spans.of(execution, history, steps, children.items, now)
    line = timeline.of(attempts, execution.created_at, now, steps)
    return TimelineView.of(line, found, more_children=children.next_cursor is not None)

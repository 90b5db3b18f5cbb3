"""Histories: what lanes and queues did in the last hour and the last week."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from holdfast.model import bounds
from holdfast.model.history import History, Span, Subject
from holdfast.server.http.call import Call
from holdfast.server.http.declare import Routes
from holdfast.server.views.derive import ModelView
from holdfast.server.views.fields import Name, Query, Tenants, View

routes: Routes = Routes("history", "What lanes and queues did lately, for charts.")


class HistoryView(ModelView, model=History):
    """What a lane or a queue did, in equal parts of a time, oldest first."""


class HistoryPage(View):
    """Histories, by tenant and name."""

    items: list[HistoryView]
    next_cursor: str | None = None


class HistoryQuery(Query):
    """Which history to read."""

    tenant: Tenants | None = None
    subject: Subject = Subject.LANE
    span: Span = Span.HOUR
    #: One lane or queue.
    name: Name | None = None
    #: The most parts of the time.
    points: Annotated[int, Meta(ge=1, le=bounds.HISTORY_POINTS)] = 60


@routes.get("/v1/history", query_example={"span": "hour", "points": "12"})
async def read(call: Call, query: HistoryQuery) -> HistoryPage:
    """Read what lanes or queues did in the last hour, in parts of 5 s, or week, of 5 min.

    Parts are put together until there are at most `points`. An operator key reads the history of
    `tenant`, or of all tenants with `tenant=*`.
    """
    histories = await call.engine.histories.read(
        query.subject, span=query.span, tenant=call.tenant, name=query.name, points=query.points
    )
    return HistoryPage(items=[HistoryView.of(history) for history in histories])

"""Pages of executions, of the store or of the archive."""

from __future__ import annotations

from holdfast.client import decode
from holdfast.client.http import Http
from holdfast.model.listing import Filter, Page


async def page_of(
    http: Http, where: str, wanted: Filter, *, whose: str, limit: int, cursor: str | None
) -> Page:
    """Ask for a page; `whose` counts unless the filter names a tenant."""
    reply = await http.get(
        where,
        tenant=wanted.tenant or whose,
        state=wanted.state and wanted.state.value,
        lane=wanted.lane,
        kind=wanted.kind,
        tag=wanted.tag and ":".join(wanted.tag),
        graph=wanted.graph,
        parent=wanted.parent,
        since=wanted.since and wanted.since.isoformat(),
        until=wanted.until and wanted.until.isoformat(),
        limit=limit,
        cursor=cursor,
    )
    items = tuple(decode.execution(view) for view in reply["items"])
    return Page(items=items, next_cursor=reply["next_cursor"])

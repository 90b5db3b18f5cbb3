"""Pages of executions, of the store or of the archive."""

from __future__ import annotations

from holdfast.client import decode
from holdfast.client.http import Http
from holdfast.model.listing import Filter, Page


async def page_of(
    http: Http, where: str, filters: Filter, *, whose: str, limit: int, cursor: str | None
) -> Page:
    """Request a page; `whose` applies unless the filter names a tenant."""
    reply = await http.get(
        where,
        tenant=filters.tenant or whose,
        state=filters.state and filters.state.value,
        lane=filters.lane,
        kind=filters.kind,
        tag=filters.tag and ":".join(filters.tag),
        graph=filters.graph,
        parent=filters.parent,
        since=filters.since and filters.since.isoformat(),
        until=filters.until and filters.until.isoformat(),
        limit=limit,
        cursor=cursor,
    )
    items = tuple(decode.execution(view) for view in reply["items"])
    return Page(items=items, next_cursor=reply["next_cursor"])

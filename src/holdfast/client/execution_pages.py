"""Pages of executions, of the store or of the archive."""

from __future__ import annotations

from typing import Any

from holdfast.client import decode
from holdfast.client.http import Http
from holdfast.model.listing import Filter, Page, Total


async def page_of(http: Http, where: str, filters: Filter, *, whose: str, **more: Any) -> Page:
    """Request a page; `whose` applies unless the filter names a tenant."""
    reply = await http.get(
        where,
        tenant=filters.tenant or whose,
        state=",".join(filters.every_state) or None,
        lane=filters.lane,
        kind=filters.kind,
        tag=filters.tag and ":".join(filters.tag),
        graph=filters.graph,
        parent=filters.parent,
        since=filters.since and filters.since.isoformat(),
        until=filters.until and filters.until.isoformat(),
        kind_prefix=filters.kind_prefix,
        id_prefix=filters.id_prefix,
        text=filters.text,
        **more,
    )
    total = reply.get("total")
    return Page(
        items=tuple(decode.execution(view) for view in reply["items"]),
        next_cursor=reply["next_cursor"],
        total=None if total is None else Total(count=total["count"], exact=total["exact"]),
        whys={view["id"]: view["why"] for view in reply["items"] if view.get("why")},
    )

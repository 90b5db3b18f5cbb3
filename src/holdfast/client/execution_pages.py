"""Pages of executions, of the store or of the archive."""

from __future__ import annotations

from typing import Any

from holdfast.client import decode
from holdfast.client.http import Http
from holdfast.model.filter_words import words_of
from holdfast.model.listing import Filter, Page, Total


async def page_of(http: Http, where: str, filters: Filter, *, whose: str, **more: Any) -> Page:
    """Request a page; `whose` applies unless the filter names a tenant."""
    words = words_of(filters)
    # The archive has no such filter; `more` has it for the store.
    words.pop("error_type", None)
    reply = await http.get(where, tenant=filters.tenant or whose, **words, **more)
    total = reply.get("total")
    return Page(
        items=tuple(decode.execution(view) for view in reply["items"]),
        next_cursor=reply["next_cursor"],
        total=None if total is None else Total(count=total["count"], exact=total["exact"]),
        whys={view["id"]: view["why"] for view in reply["items"] if view.get("why")},
    )

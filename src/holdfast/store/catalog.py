"""Pages over lists of `TENANT|ID` that are spread over several partitions."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable

from holdfast.model import bounds, checks
from holdfast.store.valkey.call import Caller


async def page(
    caller: Caller,
    function: str,
    tags: Iterable[str],
    *,
    tenant: str | None,
    limit: int,
    cursor: str | None,
) -> tuple[list[str], str | None]:
    """Return up to `limit` ids in the order of tenant and id, and the cursor to continue with."""
    if cursor is not None:
        checks.text("cursor", cursor, 2 * bounds.ID_CHARS)
    replies = await asyncio.gather(
        *(caller.read(function, tag, tenant or "", cursor or "", str(limit + 1)) for tag in tags)
    )
    entries = [entry.decode() for entry in heapq.merge(*(reply[0] for reply in replies))]
    kept = entries[:limit]
    ids = [entry.partition("|")[2] for entry in kept]
    return ids, kept[-1] if len(entries) > limit else None

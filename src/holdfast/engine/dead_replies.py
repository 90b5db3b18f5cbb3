"""Dead replies of a store."""

from __future__ import annotations

from typing import final

from typing_extensions import override

from holdfast.api import dead_replies
from holdfast.errors import InvalidInput
from holdfast.model import calls
from holdfast.model.dead_replies import DeadReplyPage
from holdfast.model.moments import to_ms
from holdfast.store.store import Store


@final
class DeadReplies(dead_replies.DeadReplies):
    """Operations on dead replies."""

    def __init__(self, store: Store) -> None:
        self._replies = store.dead_replies

    @override
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> DeadReplyPage:
        calls.check_page(limit, tenant)
        before = None if cursor is None else _parse_cursor(cursor)
        found = await self._replies.page(tenant=tenant, before=before, limit=limit + 1)
        following = None
        if len(found) > limit:
            last = found[limit - 1]
            following = f"{to_ms(last.died_at)}.{last.session}:{last.number}"
        return DeadReplyPage(items=tuple(found[:limit]), next_cursor=following)


def _parse_cursor(cursor: str) -> tuple[int, str]:
    at, _, last = cursor.partition(".")
    if not at.isdecimal() or not at.isascii() or not last:
        raise InvalidInput("cursor: must come from an earlier page", field="cursor")
    return int(at), last

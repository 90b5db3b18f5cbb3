"""Dead replies over HTTP."""

from __future__ import annotations

from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast.api.dead_replies import DeadReplies
from holdfast.client.http import EVERY_TENANT, Http
from holdfast.model import calls
from holdfast.model.dead_replies import DeadReply, DeadReplyPage
from holdfast.model.session_keys import SessionKey


@final
class RemoteDeadReplies(DeadReplies):
    """Operations on dead replies."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def list(
        self, *, tenant: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> DeadReplyPage:
        calls.check_page(limit, tenant)
        whose = tenant or self._http.tenant or EVERY_TENANT
        reply = await self._http.get("/v1/dead-replies", tenant=whose, limit=limit, cursor=cursor)
        items = tuple(_reply(item) for item in reply["items"])
        return DeadReplyPage(items=items, next_cursor=reply["next_cursor"])


def _reply(item: dict[str, Any]) -> DeadReply:
    names = ("tenant", "env", "endpoint", "conversation", "user")
    key = SessionKey(**{name: item.pop(name) for name in names})
    return msgspec.convert({**item, "key": msgspec.to_builtins(key)}, DeadReply, strict=False)

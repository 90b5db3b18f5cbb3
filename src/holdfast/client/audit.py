"""The audit log over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import Http
from holdfast.model.audit import AuditEntry


@final
class RemoteAudit(api.Audit):
    """The audit log of a server's store; the server itself appends to it."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant

    @override
    async def list(
        self,
        *,
        tenant: str | None = None,
        key: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[AuditEntry], str | None]:
        reply = await self._http.get(
            "/v1/audit",
            tenant=tenant or self._tenant,
            key=key,
            since=since and since.isoformat(),
            limit=limit,
            cursor=cursor,
        )
        return msgspec.convert(reply["items"], list[AuditEntry]), reply["next_cursor"]

"""Short history over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import EVERY_TENANT, Http
from holdfast.model.history import History, HistoryQuery


@final
class RemoteHistories(api.Histories):
    """The history of a server's lanes and queues."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def _read(self, query: HistoryQuery) -> Sequence[History]:
        reply = await self._http.get(
            "/v1/history",
            tenant=query.tenant or self._http.tenant or EVERY_TENANT,
            subject=query.subject,
            span=query.span,
            name=query.name,
            points=query.points,
        )
        return [msgspec.convert(item, History) for item in reply["items"]]

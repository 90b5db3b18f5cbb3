"""Webhooks over HTTP."""

from __future__ import annotations

from typing import final

from typing_extensions import override

from holdfast.api.webhooks import Webhooks
from holdfast.client.http import Http


@final
class RemoteWebhooks(Webhooks):
    """Operations on webhooks."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def secret(self, tenant: str) -> str:
        return str((await self._http.get("/v1/webhooks/secret", tenant=tenant))["secret"])

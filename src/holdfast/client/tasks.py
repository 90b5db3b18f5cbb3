"""Tasks over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

from typing_extensions import override

from holdfast import api
from holdfast.client.http import Http


@final
class RemoteTasks(api.Tasks):
    """Descriptions of tasks in a server's store."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self._tenant = http.tenant

    @override
    async def list(self, *, tenant: str | None = None) -> dict[str, dict[str, Any]]:
        # The tenant of the key does not have to be named.
        whose = None if tenant == "default" else tenant
        reply = await self._http.get("/v1/tasks", tenant=whose or self._tenant)
        return {item.pop("name"): item for item in reply["items"]}

    @override
    async def publish(
        self, described: Mapping[str, Mapping[str, Any]], *, tenant: str | None = None
    ) -> None:
        await self._http.post("/v1/tasks", described)

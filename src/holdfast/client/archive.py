"""The archive over HTTP, for reading."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client import decode
from holdfast.client.execution_pages import page_of
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.model import bounds, checks, exports
from holdfast.model.archive import ArchiveStatus, Survey
from holdfast.model.exports import Exported
from holdfast.model.listing import Filter, Page
from holdfast.model.moments import to_ms


@final
class RemoteArchive(api.Archive):
    """The archive of a server's store. A key of one tenant reads only that tenant's executions."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: The tenant whose executions are listed unless a filter names another.
        self._tenant = http.tenant or EVERY_TENANT

    async def survey(self) -> Survey:
        """Return where the archive is, what it holds, and how many executions wait for it."""
        view = await self._http.get("/v1/archive")
        url, waiting, at = view.pop("url"), view.pop("waiting"), view.pop("committed_at")
        committed = None if at is None else to_ms(decode.moment(at))
        known = msgspec.convert({**view, "committed_at_ms": committed}, ArchiveStatus)
        return Survey(url=url, waiting=waiting, archive=known if url else None)

    @override
    async def status(self) -> ArchiveStatus:
        return (await self.survey()).archive or ArchiveStatus()

    @override
    async def get(self, execution_id: str) -> Exported:
        response = await self._http.send("GET", _about(execution_id, "export"))
        return exports.from_json(response.content)

    @override
    async def owner(self, execution_id: str) -> str:
        return str((await self._http.get(_about(execution_id)))["tenant"])

    @override
    async def page(
        self, wanted: Filter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> Page:
        checks.integer("limit", limit, 1, bounds.PAGE_ITEMS)
        wanted = Filter() if wanted is None else checks.instance("wanted", wanted, Filter)
        where = "/v1/archive/executions"
        return await page_of(
            self._http, where, wanted, whose=self._tenant, limit=limit, cursor=cursor
        )

    @override
    async def rows(self, wanted: Filter | None = None) -> AsyncIterator[Exported]:
        cursor: str | None = None
        while True:
            page = await self.page(wanted, limit=bounds.PAGE_ITEMS, cursor=cursor)
            for execution in page.items:
                yield await self.get(execution.id)
            cursor = page.next_cursor
            if cursor is None:
                return


def _about(execution_id: str, *rest: str) -> str:
    return path("archive", "executions", checks.execution_id("id", execution_id), *rest)

"""Bulk actions over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

import msgspec
from typing_extensions import override

from holdfast.api.bulk import BulkActions
from holdfast.client import decode
from holdfast.client.http import EVERY_TENANT, Http, path
from holdfast.model import checks
from holdfast.model.bulk import Bulk, NewBulk, Preview
from holdfast.model.filter_words import filter_of, words_of
from holdfast.model.listing import Total
from holdfast.model.states import State


@final
class RemoteBulkActions(BulkActions):
    """Operations on bulk actions."""

    def __init__(self, http: Http) -> None:
        self._http = http
        #: Whom an operator key acts for.
        self._tenant = http.tenant

    @override
    async def preview(self, new: NewBulk) -> Preview:
        reply = await self._http.post("/v1/bulk", {**self._body(new), "dry_run": True})
        sample = tuple(decode.execution(view) for view in reply["sample"])
        return Preview(total=Total(count=reply["count"], exact=reply["exact"]), sample=sample)

    @override
    async def start(self, new: NewBulk) -> Bulk:
        body = self._body(new)
        await self._http.post("/v1/bulk", body)
        return await self.get(new.id, tenant=body["tenant"])

    @override
    async def get(self, bulk_id: str, *, tenant: str | None = None) -> Bulk:
        where = path("bulk", checks.name("id", bulk_id))
        return _bulk(await self._http.get(where, tenant=tenant or self._tenant))

    @override
    async def list(self, *, tenant: str | None = None) -> builtins.list[Bulk]:
        reply = await self._http.get("/v1/bulk", tenant=tenant or self._tenant or EVERY_TENANT)
        return [_bulk(view) for view in reply["items"]]

    @override
    async def abort(self, bulk_id: str, *, tenant: str | None = None, reason: str = "") -> Bulk:
        where = path("bulk", checks.name("id", bulk_id), "abort")
        query = {"tenant": tenant or self._tenant}
        reply = await self._http.send("POST", where, body={"reason": reason}, query=query)
        return _bulk(reply.decode())

    def _body(self, new: NewBulk) -> dict[str, Any]:
        checks.instance("new", new, NewBulk)
        return {
            "action": new.action,
            "filter": words_of(new.wanted),
            "tenant": new.wanted.tenant or self._tenant,
            "reason": new.reason,
            "priority": new.priority,
            "rate": new.rate,
            "expected": new.expected,
            "id": new.id,
        }


def _bulk(view: Mapping[str, Any]) -> Bulk:
    known = {name: view[name] for name in Bulk.__dataclass_fields__ if name in view}
    is_last = view["state"] == State.COMPLETED
    bulk = msgspec.convert({**known, "wanted": {}, "is_last": is_last}, Bulk)
    return replace(bulk, wanted=filter_of(view["filter"], bulk.tenant))

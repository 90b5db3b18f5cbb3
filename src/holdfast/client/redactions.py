"""Redaction rules over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import msgspec
from typing_extensions import override

from holdfast import api
from holdfast.client.http import EVERY_TENANT, Http
from holdfast.model.sight import EVERY_KIND, RedactionRule

_PATH = "/v1/redactions"


@final
class RemoteRedactions(api.Redactions):
    """The redaction rules of a server's store. A key of one tenant has only its own."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def add(
        self, path: str, *, kind: str = EVERY_KIND, tenant: str | None = None
    ) -> RedactionRule:
        rule = RedactionRule(path=path, kind=kind, tenant=tenant)
        view = await self._http.post(_PATH, msgspec.to_builtins(rule))
        return msgspec.convert(view, RedactionRule)

    @override
    async def remove(self, path: str, *, kind: str = EVERY_KIND, tenant: str | None = None) -> None:
        rule = RedactionRule(path=path, kind=kind, tenant=tenant)
        await self._http.post(f"{_PATH}:remove", msgspec.to_builtins(rule))

    @override
    async def list(self, *, tenant: str | None = None) -> Sequence[RedactionRule]:
        reply = await self._http.get(_PATH, tenant=tenant or self._http.tenant or EVERY_TENANT)
        return [msgspec.convert(item, RedactionRule) for item in reply["items"]]

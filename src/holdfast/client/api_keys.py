"""API keys and the audit log over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from holdfast.client.http import Http, Remote, path
from holdfast.engine.api_keys import ApiKeys
from holdfast.engine.audit import Audit
from holdfast.errors import KeyNotFound
from holdfast.model import api_keys, bounds, checks
from holdfast.model.api_keys import ApiKey
from holdfast.model.audit import AuditEntry


class RemoteApiKeys(Remote, ApiKeys):
    """The API keys of a server's store; a key of one tenant sees and makes those of its own."""

    def __init__(self, http: Http) -> None:
        self._http = http

    async def create(
        self,
        *,
        roles: Iterable[str],
        tenant: str | None = None,
        name: str = "",
        ttl_ms: int | None = None,
        secret: str | None = None,
    ) -> tuple[ApiKey, str]:
        """Create a key; returns it and its secret, which is shown this once only.

        The secret is minted here, so that a call whose answer got lost can be sent again.
        """
        secret = api_keys.new_secret() if secret is None else api_keys.checked_secret(secret)
        body = {"roles": list(roles), "tenant": tenant, "name": name, "ttl_ms": ttl_ms}
        view = await self._http.post("/v1/keys", {**body, "secret": secret})
        return _key(view), secret

    async def list(self, *, tenant: str | None = None) -> list[ApiKey]:
        """Return the keys, of one tenant or all, oldest first; those that ended lately too."""
        found = [_key(view) for view in (await self._http.get("/v1/keys"))["items"]]
        return [key for key in found if tenant is None or key.tenant == tenant]

    async def revoke(self, key_id: str, *, tenant: str | None = None) -> None:
        """Revoke a key; with a tenant, only if it belongs to that. Safe to repeat."""
        checks.text("id", key_id, bounds.ID_CHARS, empty=False)
        if tenant is not None and key_id not in {one.id for one in await self.list(tenant=tenant)}:
            raise KeyNotFound(f"no API key has the id {key_id}", id=key_id)
        await self._http.delete(path("keys", key_id))


def _key(view: dict[str, Any]) -> ApiKey:
    """Read a key; its digest stays with the server."""
    return msgspec.convert({**view, "digest": ""}, ApiKey)


class RemoteAudit(Remote, Audit):
    """The audit log of a server's store; the server itself appends to it."""

    def __init__(self, http: Http, tenant: str | None) -> None:
        self._http = http
        self._tenant = tenant

    async def list(
        self,
        *,
        tenant: str | None = None,
        key: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> tuple[Sequence[AuditEntry], str | None]:
        """Return a page of both logs, newest first, and the cursor of the next one."""
        reply = await self._http.get(
            "/v1/audit",
            tenant=tenant or self._tenant,
            key=key,
            since=since and since.isoformat(),
            limit=limit,
            cursor=cursor,
        )
        return msgspec.convert(reply["items"], list[AuditEntry]), reply["next_cursor"]

"""Secrets over HTTP: values go in and never come out."""

from __future__ import annotations

from typing import NoReturn, final

import msgspec
from typing_extensions import override

from holdfast.api import secrets
from holdfast.client.http import Http, path
from holdfast.errors import NotOverHttp
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.secrets import Secret, SecretRef, check_value
from holdfast.model.session_keys import DEFAULT_ENV


@final
class RemoteSecrets(secrets.Secrets):
    """Operations on secrets."""

    def __init__(self, http: Http) -> None:
        self._http = http

    @override
    async def set(
        self, name: str, value: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> Secret:
        SecretRef(name=name, tenant=tenant, env=env)
        body = {"value": check_value(value), "tenant": self._whose(tenant), "env": env}
        response = await self._http.send("PUT", path("secrets", name), body=body)
        return msgspec.json.decode(response.content, type=Secret)

    @override
    async def list(self, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV) -> list[Secret]:
        reply = await self._http.get("/v1/secrets", tenant=self._whose(tenant), env=env)
        return msgspec.convert(reply["items"], list[Secret])

    @override
    async def delete(
        self, name: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> None:
        SecretRef(name=name, tenant=tenant, env=env)
        query = {"tenant": self._whose(tenant), "env": env}
        await self._http.send("DELETE", path("secrets", name), query=query)

    @override
    async def reveal(
        self, name: str, *, tenant: str = DEFAULT_TENANT, env: str = DEFAULT_ENV
    ) -> NoReturn:
        raise NotOverHttp("only a process that has the store itself reads secrets")

    @override
    async def rotate(self) -> NoReturn:
        raise NotOverHttp("keys of secrets are rotated by a process that has the store itself")

    def _whose(self, tenant: str) -> str | None:
        """Return the tenant to name; the tenant of the key does not have to be named."""
        return self._http.tenant if tenant == DEFAULT_TENANT else tenant

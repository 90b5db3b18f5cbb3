"""Endpoints of a store: checked by their providers, with sealed secrets."""

from __future__ import annotations

import builtins
import contextlib
from dataclasses import dataclass, replace
from typing import final

from typing_extensions import override

from holdfast.api import endpoints
from holdfast.channels import Channel, Provider, provider
from holdfast.engine.secrets import Secrets
from holdfast.errors import EndpointNotFound, InvalidInput, SecretNotFound
from holdfast.model import calls, checks
from holdfast.model.endpoints import Endpoint, EndpointPage, EndpointRef, NewEndpoint
from holdfast.model.secrets import SecretRef, check_value
from holdfast.model.session_keys import DEFAULT_ENV
from holdfast.store.store import Store


@dataclass(frozen=True, slots=True)
class OpenEndpoint:
    """An endpoint with what only this process may know."""

    endpoint: Endpoint
    provider: Provider
    channel: Channel


@final
class Endpoints(endpoints.Endpoints):
    """Operations on endpoints."""

    def __init__(self, store: Store, secrets: Secrets) -> None:
        self._endpoints = store.endpoints
        self._sealed = store.secrets
        self._secrets = secrets

    @override
    async def put(self, new: NewEndpoint) -> tuple[Endpoint, bool]:
        checks.instance("endpoint", new, NewEndpoint)
        service = provider(new.provider)
        service.checked(new.settings)
        for name, value in new.secrets.items():
            _check_secret(service, name)
            check_value(value)
        kept = await self._kept(new)
        missing = service.required - kept - set(new.secrets)
        if missing:
            names = ", ".join(sorted(missing))
            message = f"secrets: {service.name} needs {names}"
            raise InvalidInput(message, field="secrets")
        # The record first: it says whose the id is.
        found, created = await self._endpoints.put(new)
        ref = found.ref
        for name in await self._names(ref, new.tenant):
            if name not in kept:
                await self._sealed.remove(_secret(ref, new.tenant, name))
        for name, value in new.secrets.items():
            await self._secrets.keep(_secret(ref, new.tenant, name), value)
        names_now = tuple(sorted(kept | set(new.secrets)))
        return replace(found, secrets=names_now), created

    async def _kept(self, new: NewEndpoint) -> frozenset[str]:
        """Return the names of secrets that stay: those of the same endpoint and provider."""
        ref = EndpointRef(id=new.id, env=new.env, tenant=new.tenant)
        try:
            before = await self._endpoints.get(ref)
        except EndpointNotFound:
            return frozenset()
        if before.provider != new.provider:
            return frozenset()
        return frozenset(await self._names(ref, new.tenant))

    async def _names(self, ref: EndpointRef, tenant: str) -> builtins.list[str]:
        return [one.name for one in await self._sealed.list(tenant, ref.env, ref.id)]

    @override
    async def get(self, ref: EndpointRef) -> Endpoint:
        found = await self._endpoints.get(checks.instance("ref", ref, EndpointRef))
        return replace(found, secrets=tuple(await self._names(ref, found.tenant)))

    @override
    async def list(
        self,
        env: str = DEFAULT_ENV,
        *,
        tenant: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> EndpointPage:
        checks.name("env", env)
        calls.check_page(limit, tenant)
        found, more = await self._endpoints.page(env, tenant, limit, cursor)
        return EndpointPage(items=tuple(found), next_cursor=more)

    @override
    async def delete(self, ref: EndpointRef) -> None:
        checks.instance("ref", ref, EndpointRef)
        # The removal knows a call that it answered.
        with contextlib.suppress(EndpointNotFound):
            tenant = ref.tenant or (await self._endpoints.get(ref)).tenant
            # First: a call that was interrupted is repeated, and the endpoint says whose they are.
            for name in await self._names(ref, tenant):
                await self._sealed.remove(_secret(ref, tenant, name))
        if await self._endpoints.remove(ref) is None:
            message = f"no endpoint is called {ref.id} in the env {ref.env}"
            raise EndpointNotFound(message, id=ref.id, env=ref.env)

    async def open(self, ref: EndpointRef) -> OpenEndpoint:
        """Return an endpoint with its secrets. Raises EndpointNotFound, SecretUnreadable."""
        endpoint = await self.get(ref)
        service = provider(endpoint.provider)
        values: dict[str, str] = {}
        for name in endpoint.secrets:
            values[name] = await self._secrets.open(_secret(ref, endpoint.tenant, name))
        for name in service.required - set(values):
            message = f"the endpoint {ref.id} lacks its secret {name}: put it again"
            raise SecretNotFound(message, name=name)
        settings = service.checked(endpoint.settings)
        channel = Channel(env=ref.env, id=ref.id, settings=settings, secrets=values)
        return OpenEndpoint(endpoint, service, channel)


def _secret(ref: EndpointRef, tenant: str, name: str) -> SecretRef:
    return SecretRef(name=name, tenant=tenant, env=ref.env, endpoint=ref.id)


def _check_secret(service: Provider, name: str) -> None:
    known = service.required | service.optional
    if name not in known:
        names = ", ".join(sorted(known))
        raise InvalidInput(f"secrets: {service.name} has {names}, not {name}", field="secrets")

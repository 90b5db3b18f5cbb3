"""Endpoints: where webhooks of providers arrive, and from where replies leave."""

from __future__ import annotations

from abc import ABC, abstractmethod

from holdfast.model.endpoints import Endpoint, EndpointPage, EndpointRef, NewEndpoint
from holdfast.model.session_keys import DEFAULT_ENV


class Endpoints(ABC):
    """Operations on endpoints."""

    @abstractmethod
    async def put(self, new: NewEndpoint) -> tuple[Endpoint, bool]:
        """Create an endpoint or replace one of the same tenant; return it, and whether it is new.

        Secrets that are left out keep their value, unless the provider changes. Raises
        InvalidInput, EnvNotFound, EndpointConflict, TooManyEndpoints.
        """

    @abstractmethod
    async def get(self, ref: EndpointRef) -> Endpoint:
        """Return an endpoint, with the names of its secrets. Raises EndpointNotFound."""

    @abstractmethod
    async def list(
        self,
        env: str = DEFAULT_ENV,
        *,
        tenant: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> EndpointPage:
        """Return a page of endpoints by tenant and id, without the names of their secrets."""

    @abstractmethod
    async def delete(self, ref: EndpointRef) -> None:
        """Delete an endpoint and its secrets. Raises EndpointNotFound.

        Replies that were not sent yet become dead; `resend` sends them once it exists again.
        """

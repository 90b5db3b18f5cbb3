"""One call of a route: who calls, for which tenant, and what the handler may use."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request

from holdfast.concurrency import first_of, stop
from holdfast.engine import Engine
from holdfast.errors import Forbidden
from holdfast.model import checks, names
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.services import ServiceStatus
from holdfast.server.auth.identity import Identities, Identity
from holdfast.server.auth.throttle import Open, Rate
from holdfast.server.claimers import Claimers
from holdfast.server.draining import Draining
from holdfast.server.http.declare import Route
from holdfast.server.metrics import Metrics
from holdfast.server.settings import ServerSettings

T = TypeVar("T")

#: Lists with this name show everything that the key may see.
EVERY_TENANT = "*"


@dataclass(slots=True, kw_only=True)
class Services:
    """What all calls of a server share."""

    engine: Engine
    settings: ServerSettings
    identities: Identities
    claimers: Claimers
    draining: Draining
    metrics: Metrics
    rate: Rate
    waits: Open
    tails: Open
    #: Set when the server stops: whoever waits for something ends.
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def close(self) -> None:
        """Finish what is under way."""
        await self.claimers.close()
        await self.identities.close()

    def stopped(self) -> list[ServiceStatus]:
        """Return the services of this process that have stopped and wait to be restarted."""
        return [status for status in self.engine.services.statuses() if not status.running]


@dataclass(slots=True, kw_only=True)
class Call:
    """One call."""

    services: Services
    request: Request
    route: Route
    id: str
    identity: Identity
    #: The tenant that the call is for; None: all of them, or something of the whole system.
    tenant: str | None = None
    #: False: nothing was changed after all, so the audit log has no interest in it.
    audited: bool = True

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.services.engine

    @property
    def about(self) -> dict[str, str | None]:
        """What logs and traces say of it."""
        found = {"request": self.id, "tenant": self.tenant or self.identity.tenant}
        if self.route.path.startswith("/v1/executions/{id}"):
            found["execution"] = self.request.path_params["id"]
        return found

    def tenant_named(self, named: str | None) -> str:
        """Return the tenant that the caller may act for, if it names one; raises Forbidden."""
        own = self.identity.tenant
        if named is None:
            return own or DEFAULT_TENANT
        if own is not None and named != own:
            raise Forbidden(f"this API key belongs to another tenant than {named!r}")
        return checks.name("tenant", named)

    def tenant_listed(self, named: str | None) -> str | None:
        """Return the tenant whose things are listed; None: those of all."""
        if named == EVERY_TENANT:
            return self.identity.tenant
        return self.tenant_named(named)

    def stored_id(self, given: str) -> str:
        """Return the stored id of what a call names: an id of its tenant, or one in full."""
        return names.stored_id(self.tenant or self.identity.tenant or DEFAULT_TENANT, given)

    @property
    def caller(self) -> str:
        """Whose limits count for calls that stay open."""
        return self.identity.tenant or self.identity.key or ""

    @property
    def address(self) -> str:
        """Where it comes from."""
        client = self.request.client
        return client.host if client else ""

    def count_address(self, calls: int = 1) -> None:
        """Count for the address, where nobody can be told apart otherwise; raises RateLimited."""
        self.services.rate.take(f"address {self.address}", calls)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count this call as one that waits; raises RateLimited."""
        with self.services.waits.one(self.caller):
            yield

    @contextlib.asynccontextmanager
    async def until_gone(self) -> AsyncIterator[asyncio.Event]:
        """Yield what is set when nobody waits for the answer any more, or the server stops."""
        gone = asyncio.Event()

        async def listen() -> None:
            while (await self.request.receive())["type"] != "http.disconnect":
                pass
            gone.set()

        async def close() -> None:
            await self.services.closing.wait()
            gone.set()

        tasks = [asyncio.ensure_future(listen()), asyncio.ensure_future(close())]
        try:
            yield gone
        finally:
            await stop(*tasks)

    async def unless_gone(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Do something that may be given up at any point, while somebody waits for it."""
        async with self.until_gone() as gone:
            working = asyncio.ensure_future(work)
            try:
                await first_of(working, gone.wait())
                return working.result() if working.done() else None
            finally:
                await stop(working)

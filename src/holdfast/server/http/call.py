"""A call of a route: its caller, its tenant, and what the handler can use."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request

from holdfast.concurrency import first_of, stop
from holdfast.engine import Engine
from holdfast.engine.ingress import Ingress
from holdfast.errors import Forbidden, HoldfastError, StoreUnavailable
from holdfast.model import checks, names
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.services import ServiceStatus
from holdfast.server.auth.identity import Identities, Identity
from holdfast.server.auth.throttle import Open, Rate
from holdfast.server.auth.veils import Veils
from holdfast.server.chat.doors import Doors
from holdfast.server.claimers import Claimers
from holdfast.server.draining import Draining
from holdfast.server.http.declare import Route
from holdfast.server.http.turns import TURN, Turn
from holdfast.server.metrics import Metrics
from holdfast.server.settings import ServerSettings
from holdfast.server.views.veil import CLEAR, Veil

T = TypeVar("T")

#: As a tenant, it lists everything that the key may see.
EVERY_TENANT = "*"
#: A store that does not answer a ping in this time is not there.
_READY_S = 2.0


@dataclass(slots=True, kw_only=True)
class Services:
    """The services that all calls of a server share."""

    engine: Engine
    settings: ServerSettings
    identities: Identities
    claimers: Claimers
    draining: Draining
    metrics: Metrics
    rate: Rate
    ingress: Ingress
    waits: Open
    tails: Open
    doors: Doors
    #: Messages of web chats, by address.
    visits: Rate
    #: Files that visitors upload, by session.
    uploads: Open
    veils: Veils
    #: Set when the server stops, so that all waits end.
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def close(self) -> None:
        """Finish pending work."""
        await self.ingress.close()
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
    #: The tenant that the call is for; None for all tenants or for the whole system.
    tenant: str | None = None
    #: False if nothing was changed, so that the audit log skips the call.
    audited: bool = True
    #: What the caller does not see of payloads.
    veil: Veil = CLEAR

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.services.engine

    @property
    def about(self) -> dict[str, str | None]:
        """The attributes of the call for logs and traces."""
        found = {"request": self.id, "tenant": self.tenant or self.identity.tenant}
        if self.route.path.startswith("/v1/executions/{id}"):
            found["execution"] = self.request.path_params["id"]
        return found

    def tenant_named(self, named: str | None) -> str:
        """Return the tenant that the call names; raise Forbidden if it is not the caller's."""
        own = self.identity.tenant
        if named is None:
            return own or DEFAULT_TENANT
        if own is not None and named != own:
            raise Forbidden(f"this API key belongs to another tenant than {named!r}")
        return checks.name("tenant", named)

    def tenant_listed(self, named: str | None) -> str | None:
        """Return the tenant to list; None for all tenants."""
        if named == EVERY_TENANT:
            return self.identity.tenant
        return self.tenant_named(named)

    def stored_id(self, given: str) -> str:
        """Return the stored id for an id of the caller's tenant or a full id."""
        return names.stored_id(self.tenant or self.identity.tenant or DEFAULT_TENANT, given)

    @property
    def caller(self) -> str:
        """The name under which the open calls of the caller are counted."""
        return self.identity.tenant or self.identity.key or ""

    @property
    def address(self) -> str:
        """The address of the caller."""
        client: tuple[str, int] | None = self.request.scope.get("client")
        return client[0] if client else ""

    def count_address(self, calls: int = 1) -> None:
        """Count the call for its address, if the caller has no key; raise RateLimited."""
        self.services.rate.take(f"address {self.address}", calls)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count this call as one that waits; raise RateLimited if there are too many."""
        with self.services.waits.one(self.caller):
            self.leave_turn()
            yield

    def leave_turn(self) -> None:
        """Make room for other calls of the caller: this one waits."""
        turn: Turn | None = self.request.scope.get(TURN)
        if turn is not None:
            turn.end()

    async def ping(self) -> None:
        """Raise StoreUnavailable at once if the store does not answer; calls are more patient."""
        try:
            async with asyncio.timeout(_READY_S):
                await self.engine.ping()
        except TimeoutError:
            raise StoreUnavailable("the store does not answer") from None
        except HoldfastError as error:
            raise StoreUnavailable(f"the store cannot be used: {error}") from error

    @contextlib.asynccontextmanager
    async def until_gone(self) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set when the caller disconnects or the server stops."""
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
        """Do work that can be abandoned at any point, until the caller disconnects."""
        async with self.until_gone() as gone:
            working = asyncio.ensure_future(work)
            try:
                await first_of(working, gone.wait())
                return working.result() if working.done() else None
            finally:
                await stop(working)

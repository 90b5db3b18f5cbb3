"""The routes of deployments, kept in memory, so that webhooks do not have to read them.

They are read when they are first needed. The store announces changes; because an announcement can
get lost, they are also read again after a while.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from holdfast.model.deployments import Deployment
from holdfast.routing.hosts import choose
from holdfast.store import channels
from holdfast.store.store import Store

#: Routes are read again after this long, in case an announcement was lost.
FRESH_S = 30.0
_PAGE = 200
#: Tenants whose routes are kept.
_MOST = 1_000


class RouteTable:
    """Which deployment of a tenant answers a host and a path."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str], tuple[float, tuple[Deployment, ...]]] = {}
        #: Increases whenever routes may have changed.
        self._changes = 0
        self._channel = channels.deployments(store.global_tag)
        self._listening: asyncio.Future[None] | None = None

    async def close(self) -> None:
        """Stop listening."""
        if self._listening is not None:
            await asyncio.gather(self._listening, return_exceptions=True)
            self._listening = None
            self._known.clear()
            await self._store.subscriptions.remove([self._channel], self._on_news)

    async def find(self, env: str, tenant: str, host: str, path: str) -> str:
        """Return the id of a deployment; raises DeploymentNotFound, AmbiguousDeployment."""
        now = asyncio.get_running_loop().time()
        read_at, routes = self._known.get((env, tenant), (-FRESH_S, ()))
        if now - read_at >= FRESH_S:
            routes = await self._read(env, tenant)
        return choose(routes, host, path).id

    async def _read(self, env: str, tenant: str) -> tuple[Deployment, ...]:
        await self._listen()
        changes, now = self._changes, asyncio.get_running_loop().time()
        found: list[Deployment] = []
        cursor = None
        while True:
            page, cursor = await self._store.deployments.page(env, tenant, _PAGE, cursor)
            # Only the routes are kept.
            found += [replace(one, revisions=(), past=()) for one in page]
            if cursor is None:
                break
        routes = tuple(found)
        if changes == self._changes:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[env, tenant] = (now, routes)
        return routes

    async def _listen(self) -> None:
        """Listen before the first read, so that no change is missed in between."""
        if self._listening is None:
            opening = self._store.subscriptions.add([self._channel], self._on_news)
            self._listening = asyncio.ensure_future(opening)
        await asyncio.shield(self._listening)

    def _on_news(self, _channel: str, env: str) -> None:
        self._changes += 1
        self._known = {name: one for name, one in self._known.items() if name[0] != env}

"""Endpoints with their secrets, kept in memory for a moment, as many messages need the same one."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from functools import partial

from holdfast.engine.endpoints import Endpoints, OpenEndpoint
from holdfast.errors import EndpointNotFound
from holdfast.model.endpoints import EndpointRef

#: How long a process may use what it has read; later it learns of a change.
KNOWN_S = 2.0
_MOST = 1_000

#: An env and the id of an endpoint.
_Name = tuple[str, str]


class OpenedEndpoints:
    """The endpoints that this process used last, also those that do not exist."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self._known: OrderedDict[_Name, tuple[float, OpenEndpoint | None]] = OrderedDict()
        self._under_way: dict[_Name, asyncio.Task[OpenEndpoint | None]] = {}

    async def get(self, env: str, endpoint_id: str) -> OpenEndpoint:
        """Return an endpoint; raises EndpointNotFound, SecretUnreadable, SecretNotFound."""
        name = (env, endpoint_id)
        until, found = self._known.get(name, (0.0, None))
        if time.monotonic() > until:
            found = await self._read_once(name)
        if found is None:
            message = f"no endpoint is called {endpoint_id} in the env {env}"
            raise EndpointNotFound(message, id=endpoint_id, env=env)
        return found

    async def _read_once(self, name: _Name) -> OpenEndpoint | None:
        """Read an endpoint, once for all who ask at the same time."""
        reading = self._under_way.get(name)
        if reading is None:
            reading = asyncio.ensure_future(self._read(name))
            self._under_way[name] = reading
            reading.add_done_callback(partial(self._ended, name))
        # The others still need it if this one is cancelled.
        return await asyncio.shield(reading)

    def _ended(self, name: _Name, reading: asyncio.Task[OpenEndpoint | None]) -> None:
        del self._under_way[name]
        if not reading.cancelled():
            # Those who asked may be gone.
            reading.exception()

    async def _read(self, name: _Name) -> OpenEndpoint | None:
        env, endpoint_id = name
        try:
            found = await self._endpoints.open(EndpointRef(id=endpoint_id, env=env))
        except EndpointNotFound:
            found = None
        self._known[name] = (time.monotonic() + KNOWN_S, found)
        self._known.move_to_end(name)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return found

"""Endpoints with their secrets, kept in memory for a moment, as many messages need the same one."""

from __future__ import annotations

import time
from collections import OrderedDict

from holdfast.engine.endpoints import Endpoints, OpenEndpoint
from holdfast.errors import EndpointNotFound
from holdfast.model.endpoints import EndpointRef

#: How long a process may use what it has read; later it learns of a change.
KNOWN_S = 2.0
_MOST = 1_000


class OpenedEndpoints:
    """The endpoints that this process used last, also those that do not exist."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self._known: OrderedDict[tuple[str, str], tuple[float, OpenEndpoint | None]] = OrderedDict()

    async def get(self, env: str, endpoint_id: str) -> OpenEndpoint:
        """Return an endpoint; raises EndpointNotFound, SecretUnreadable, SecretNotFound."""
        name = (env, endpoint_id)
        until, found = self._known.get(name, (0.0, None))
        if time.monotonic() > until:
            found = await self._read(EndpointRef(id=endpoint_id, env=env))
            self._known[name] = (time.monotonic() + KNOWN_S, found)
            self._known.move_to_end(name)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        if found is None:
            message = f"no endpoint is called {endpoint_id} in the env {env}"
            raise EndpointNotFound(message, id=endpoint_id, env=env)
        return found

    async def _read(self, ref: EndpointRef) -> OpenEndpoint | None:
        try:
            return await self._endpoints.open(ref)
        except EndpointNotFound:
            return None

"""The reporter: writes the status of this process's services to the store, for `doctor`."""

from __future__ import annotations

import contextlib
import os
import socket

from holdfast.concurrency import wait_or_timeout
from holdfast.errors import HoldfastError
from holdfast.model.ids import new_id
from holdfast.services import Supervisor
from holdfast.store.store import Store

#: A process that has not reported for three times this long is gone.
EVERY_S = 20.0


class Reporter:
    """Reports regularly, and immediately when a service stops or starts again."""

    name = "reporter"

    def __init__(self, store: Store, services: Supervisor) -> None:
        self._store = store
        self._services = services
        self.process: str = f"{socket.gethostname()[:60]}.{os.getpid()}.{new_id()[-6:]}"

    async def run(self) -> None:
        """Report until cancelled, then remove the process."""
        changed = self._services.changed
        ttl_ms = int(3000 * EVERY_S)
        try:
            while True:
                changed.clear()
                await self._store.services.report(self.process, self._services.statuses(), ttl_ms)
                await wait_or_timeout(changed, EVERY_S)
        finally:
            with contextlib.suppress(HoldfastError):
                await self._store.services.forget(self.process)

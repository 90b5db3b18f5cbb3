"""The supervisor: runs services, restarts those that stop, and reports the status of each.

    start -> running -> (stops by itself) -> restarting -> running -> ... -> close

A service never returns by itself. One that does, or that fails, is logged and started again after a
pause that doubles from failure to failure and is short again once the service has run for a while.
While the store is away the pause stays short: the calls of a service wait long enough, and until it
runs again a server is not ready.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Protocol

from holdfast.concurrency import stop
from holdfast.errors import HoldfastError, OutcomeUnknown, StoreUnavailable
from holdfast.model.services import ServiceStatus
from holdfast.outages import level

log: logging.Logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 30.0
#: A service that ran this long before it stopped is not in a crash loop.
SOUND_S = 60.0


class Service(Protocol):
    """Work that runs beside calls."""

    #: Unique in a process; logs, probes and metrics show it.
    name: str

    async def run(self) -> None:
        """Work until cancelled. May be called again after it has stopped."""
        ...


class Supervisor:
    """Keeps the services of a process running."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        #: Set when a service stops or starts again.
        self.changed: asyncio.Event = asyncio.Event()

    def start(self, service: Service) -> None:
        """Run a service until `stop` or `close`."""
        self._kept[service.name] = _Kept(service, self.changed)

    async def stop(self, name: str) -> None:
        """Stop a service permanently."""
        kept = self._kept.pop(name, None)
        if kept is not None:
            await kept.close()

    async def close(self) -> None:
        """Stop all services, the last to start first."""
        try:
            for name in reversed(list(self._kept)):
                await self.stop(name)
        finally:
            # Also if it is cancelled meanwhile: they would go on without it.
            for kept in self._kept.values():
                kept.cancel()

    def statuses(self) -> tuple[ServiceStatus, ...]:
        """Return the status of each service, in the order in which they started."""
        return tuple(kept.status() for kept in self._kept.values())

    def kill(self, name: str) -> None:
        """Make a service stop as if it had failed, for tests."""
        self._kept[name].run.cancel()


class _Kept:
    """One service and its restarts."""

    def __init__(self, service: Service, changed: asyncio.Event) -> None:
        self._service = service
        self._changed = changed
        self._restarts = 0
        self._error: str | None = None
        self._error_at: datetime | None = None
        self.run: asyncio.Future[None] = asyncio.ensure_future(service.run())
        self._keeping = asyncio.ensure_future(self._keep())

    def status(self) -> ServiceStatus:
        return ServiceStatus(
            name=self._service.name,
            running=not self.run.done(),
            restarts=self._restarts,
            last_error=self._error,
            last_error_at=self._error_at,
        )

    def cancel(self) -> None:
        self._keeping.cancel()
        self.run.cancel()

    async def close(self) -> None:
        await stop(self._keeping, self.run)

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        pause_s = FIRST_PAUSE_S
        while True:
            started = loop.time()
            await asyncio.wait([self.run])
            problem = None if self.run.cancelled() else self.run.exception()
            is_outage = isinstance(problem, StoreUnavailable | OutcomeUnknown)
            if is_outage or loop.time() - started > SOUND_S:
                pause_s = FIRST_PAUSE_S
            self._note(problem, pause_s)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            self.run = asyncio.ensure_future(self._service.run())
            again = logging.DEBUG if is_outage else logging.INFO
            log.log(again, "service %s is running again", self._service.name)
            self._changed.set()

    def _note(self, problem: BaseException | None, pause_s: float) -> None:
        """Remember and log why the service stopped."""
        self._restarts += 1
        self._error_at = datetime.now(UTC)
        self._error = "it was cancelled" if self.run.cancelled() else "it returned"
        if problem is not None:
            self._error = f"{type(problem).__name__}: {problem}"
        # An outage of the store has its own log line; any other error that is not ours is a bug.
        is_ours = isinstance(problem, HoldfastError)
        log.log(
            level(problem) if isinstance(problem, HoldfastError) else logging.ERROR,
            "service %s stopped; restarting it in %.1f s: %s",
            self._service.name,
            pause_s,
            self._error,
            exc_info=None if is_ours else problem,
        )
        self._changed.set()

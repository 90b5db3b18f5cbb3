"""Values that describe services: work that runs beside calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """The status of one service of a process."""

    name: str
    #: False while it waits to be restarted.
    running: bool
    #: How often it has stopped on its own since the process started.
    restarts: int = 0
    #: Why it stopped the last time.
    last_error: str | None = None
    last_error_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceProcess:
    """A process that runs services."""

    #: Host, process id and a random end.
    name: str
    services: tuple[ServiceStatus, ...]

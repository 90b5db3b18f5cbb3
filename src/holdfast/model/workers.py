"""Values that describe workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a worker says of itself when it registers and at every heartbeat."""

    instance: str
    #: The pool it belongs to.
    worker: str
    lanes: tuple[str, ...]
    capabilities: tuple[str, ...] = ()
    slots: int = 1
    #: Slots in use.
    busy: int = 0
    #: It counts as gone when it has not beaten for this long.
    ttl_ms: int = 30_000
    #: The only tenant that it serves; None: all.
    tenant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker process as it last described itself."""

    instance: str
    #: The pool it belongs to.
    worker: str
    lanes: tuple[str, ...]
    capabilities: tuple[str, ...]
    slots: int
    #: Slots in use.
    busy: int
    draining: bool
    registered_at: datetime
    heartbeat_at: datetime
    expires_at: datetime
    #: The only tenant that it serves; None: all.
    tenant: str | None = None

    def serves(self, lane: str, requires: tuple[str, ...]) -> bool:
        """Whether it may claim such work; a draining worker claims nothing."""
        return not self.draining and lane in self.lanes and set(requires) <= set(self.capabilities)

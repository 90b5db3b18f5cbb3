"""Values that describe workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The report of a worker when it registers and at every heartbeat."""

    instance: str
    #: The pool it belongs to.
    worker: str
    lanes: tuple[str, ...]
    capabilities: tuple[str, ...] = ()
    slots: int = 1
    #: Slots in use.
    busy: int = 0
    #: It counts as gone after this long without a heartbeat.
    ttl_ms: int = 30_000
    #: The only tenant that it serves; None: all.
    tenant: str | None = None
    #: The kinds that it has; None: every kind.
    kinds: tuple[str, ...] | None = None


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
    #: The kinds that it has; None: every kind.
    kinds: tuple[str, ...] | None = None

    def serves(self, lane: str, tenant: str) -> bool:
        """Whether it claims on a lane for a tenant; a draining worker claims nothing."""
        return not self.draining and lane in self.lanes and self.tenant in {None, tenant}

    def has(self, kind: str) -> bool:
        """Whether it has the task of a kind."""
        return self.kinds is None or kind in self.kinds

    def can(self, requires: Iterable[str]) -> bool:
        """Whether it has all of these capabilities."""
        return set(requires) <= set(self.capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The answer to a heartbeat."""

    #: The worker was not registered before, or had expired.
    is_new: bool
    expires_at: datetime
    #: Whether the worker must finish its executions and claim no more.
    draining: bool

"""Values that describe archives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveStatus:
    """The contents of the archive."""

    segments: int = 0
    executions: int = 0
    bytes: int = 0
    tenants: Mapping[str, int] = field(default_factory=dict)
    first_day: str | None = None
    last_day: str | None = None
    sequence: int = 0
    token: str | None = None
    committed_at_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The archive of a store: its URL, its contents, and the executions that wait for it."""

    url: str | None
    waiting: int
    archive: ArchiveStatus | None

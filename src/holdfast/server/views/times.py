"""Times over HTTP: RFC 3339 in UTC with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """Write a moment, such as 2026-01-31T09:30:00.000Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def optional(moment: datetime | None) -> str | None:
    """Write a moment that may be absent."""
    return None if moment is None else rfc3339(moment)

"""Times over HTTP: RFC 3339 in UTC with milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """Format a time, such as 2026-01-31T09:30:00.000Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def optional(moment: datetime | None) -> str | None:
    """Format a time that may be absent."""
    return None if moment is None else rfc3339(moment)

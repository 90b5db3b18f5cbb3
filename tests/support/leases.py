"""Asking for writer leases, and records as others wrote them."""

from __future__ import annotations

import msgspec

from holdfast.fencing import Ask, paths
from holdfast.fencing.memory import MemoryObjects

KEY = "db/main"

#: As an older writer wrote it: no term, doubles for numbers.
LEGACY = {
    "database_key": KEY,
    "holder_id": "old-writer",
    "generation": 7.0,
    "acquired_at_ms": 1_000.0,
    "expires_at_ms": 61_000.0,
}


def ask(holder: str = "a", incarnation: str = "1", **fields: object) -> Ask:
    """Return what a contender asks for; a second lease, with a tenth of margin."""
    values: dict[str, object] = {"ttl_ms": 1_000, "margin_ms": 100, **fields}
    return Ask(holder=holder, incarnation=f"{holder}-{incarnation}", **values)  # type: ignore[arg-type]


async def write_lease(objects: MemoryObjects, body: object) -> None:
    """Put a lease object in place as somebody else wrote it."""
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    await objects.put_if_absent(paths.lease(KEY), raw)

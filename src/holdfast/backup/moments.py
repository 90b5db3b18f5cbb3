"""Restore a store as of a time, from the append-only files of its server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from holdfast.errors import StoreIncompatible
from holdfast.model.moments import from_ms, to_ms
from holdfast.store.valkey import aof


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder was restored to."""

    #: The end of the second that was asked for.
    at: datetime
    #: The last second before it in which something was written.
    last_at: datetime
    bytes: int


def restore_at(source: Path, target: Path, at: datetime) -> Moment:
    """Make the folder of an embedded store, as a store was at the end of a second.

    The source is the folder of an embedded store, or one with the append-only files of a server.
    Nothing in it changes, and its server may run. Raises StoreIncompatible if the target has data
    or the time is to come, InvalidRecord if the files do not reach back so far or have no times.
    """
    if at > datetime.now(UTC):
        raise StoreIncompatible(f"{at.isoformat()} is to come")
    if (target / aof.FOLDER).exists():
        raise StoreIncompatible(f"{target} has a store: restore into a new folder")
    inner = source / aof.FOLDER
    at_s = to_ms(at) // 1000
    made = aof.cut(inner if inner.is_dir() else source, target / aof.FOLDER, at_s)
    target.chmod(0o700)
    return Moment(at=from_ms(at_s * 1000), last_at=from_ms(made.last_s * 1000), bytes=made.bytes)

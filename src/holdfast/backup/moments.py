"""Restore a store as of a time, from the append-only files of its server."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from holdfast.errors import StoreIncompatible, StoreUnavailable
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
    or the time is to come, StoreUnavailable if it cannot be used, InvalidRecord if the files cannot
    be read, do not reach back so far or have no times.
    """
    if at > datetime.now(UTC):
        raise StoreIncompatible(f"{at.isoformat()} is to come")
    # A folder that cannot be looked into is reported when its manifest is read.
    with contextlib.suppress(OSError):
        source = inner if (inner := source / aof.FOLDER).is_dir() else source
    at_s = to_ms(at) // 1000
    try:
        if (target / aof.FOLDER).exists():
            raise StoreIncompatible(f"{target} has a store: restore into a new folder")
        made = aof.cut(source, target / aof.FOLDER, at_s)
        target.chmod(0o700)
    except OSError as error:
        message = f"cannot use the data folder {target}: {error}"
        raise StoreUnavailable(message) from error
    return Moment(at=from_ms(at_s * 1000), last_at=from_ms(made.last_s * 1000), bytes=made.bytes)

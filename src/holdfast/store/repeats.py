"""Ids of calls, by which functions recognise a call that is repeated and answer as the first time.

The caller mints one for each call. A server that answers a call with a key makes them from the key,
so that the calls of a repetition have the ids of the first ones.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from contextvars import ContextVar

from holdfast.model.ids import new_id

_key: ContextVar[str | None] = ContextVar("holdfast.repeats", default=None)


@contextlib.contextmanager
def repeatable(key: str) -> Iterator[None]:
    """Make the ids of the calls of this task in the block from a key."""
    token = _key.set(key)
    try:
        yield
    finally:
        _key.reset(token)


def call_id(*call: str) -> str:
    """Return the id of a call, which these words tell from all others for the same key."""
    key = _key.get()
    if key is None:
        return new_id()
    return hashlib.sha256("\0".join((key, *call)).encode()).hexdigest()[:40]

"""Calls on behalf of one tenant: the library refuses what belongs to another, in the same call.

A server that answers a tenant restricts its task to the ids that the tenant named. Every call of
the task about one of these ids then carries the tenant. Calls about other ids are not concerned:
those that the engine makes for itself, in this task or in one that it starts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Restriction:
    """Whose these executions or this graph must be."""

    tenant: str
    #: Stored ids.
    ids: frozenset[str]
    #: Whether a call has carried the tenant.
    checked: bool = False


_current: ContextVar[Restriction | None] = ContextVar("holdfast.restriction", default=None)
current = _current.get


@contextlib.contextmanager
def restricted(tenant: str, ids: Iterable[str]) -> Iterator[Restriction]:
    """Restrict the calls of this task about these ids to what belongs to a tenant."""
    restriction = Restriction(tenant, frozenset(ids))
    token = _current.set(restriction)
    try:
        yield restriction
    finally:
        _current.reset(token)

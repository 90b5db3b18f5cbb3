"""Ids as the caller knows them: those of its own tenant without the tenant.

A key of a tenant uses its own ids, and answers use the same. A key that belongs to no tenant gets
ids in full, which it can use as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from holdfast.model import names

#: The tenant of the key of the call that this task answers.
_tenant: ContextVar[str | None] = ContextVar("holdfast.tenant", default=None)
#: Fields of events, holds and problems that have ids of executions, graphs or waitpoints.
_FIELDS = frozenset({"id", "execution", "graph", "member", "waitpoint", "waitpoints"})


def show_to(tenant: str | None) -> None:
    """Say whose key the call has that this task answers."""
    _tenant.set(tenant)


def own(stored: str) -> str:
    """Return an id as the caller knows it."""
    return names.seen_id(stored, _tenant.get())


def own_or_none(stored: str | None) -> str | None:
    """Return an id that may be absent as the caller knows it."""
    return None if stored is None else own(stored)


def own_ids(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts with the ids in them as the caller knows them."""
    return {name: _own_value(value) if name in _FIELDS else value for name, value in data.items()}


def _own_value(value: Any) -> Any:
    if isinstance(value, str):
        return own(value)
    return [_own_value(item) for item in value] if isinstance(value, list | tuple) else value


def text(message: str) -> str:
    """Return a sentence of ours with ids as the caller knows them."""
    tenant = _tenant.get()
    return message if tenant is None else message.replace(f"{tenant}{names.ID_SEPARATOR}", "")

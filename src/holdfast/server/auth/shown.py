"""Ids as the caller knows them: ids of its own tenant appear without the tenant.

A caller with the key of a tenant sends and receives the ids of that tenant. A caller whose key has
no tenant receives full ids, which it can send back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from holdfast.model import names

#: The tenant of the key of the call that this task answers.
_tenant: ContextVar[str | None] = ContextVar("holdfast.tenant", default=None)
#: Fields of events, holds and problems that contain ids of executions, graphs or waitpoints.
_FIELDS = frozenset({"id", "execution", "graph", "member", "waitpoint", "waitpoints"})


def show_to(tenant: str | None) -> None:
    """Set the tenant of the key of the call that this task answers."""
    _tenant.set(tenant)


def own(stored: str) -> str:
    """Return an id as the caller knows it."""
    return names.seen_id(stored, _tenant.get())


def own_or_none(stored: str | None) -> str | None:
    """Return an id as the caller knows it, or None."""
    return None if stored is None else own(stored)


def own_ids(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with its ids as the caller knows them."""
    return {name: _own_value(value) if name in _FIELDS else value for name, value in data.items()}


def _own_value(value: Any) -> Any:
    if isinstance(value, str):
        return own(value)
    return [_own_value(item) for item in value] if isinstance(value, list | tuple) else value


def text(message: str) -> str:
    """Return a message with its ids as the caller knows them."""
    tenant = _tenant.get()
    return message if tenant is None else _own_ids(tenant).sub("", message)


@lru_cache(1_000)
def _own_ids(tenant: str) -> re.Pattern[str]:
    """Match how ids of a tenant begin, and not the end of another word, such as `limit=` of `t`."""
    return re.compile(rf"(?<![\w.@-]){re.escape(tenant + names.ID_SEPARATOR)}")

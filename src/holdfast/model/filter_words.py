"""Filters of executions in the words of the HTTP API, the console and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.model import checks
from holdfast.model.listing import Filter
from holdfast.model.states import State

#: Words that name an id or its start.
IDS = ("id_prefix", "graph", "parent")
_AS_THEY_ARE = ("lane", "kind", "kind_prefix", "text", "error_type", *IDS)


def words_of(filters: Filter) -> dict[str, str]:
    """Return what a filter selects by, apart from the tenant."""
    words = {
        "state": ",".join(filters.every_state),
        "lane": filters.lane,
        "kind": filters.kind,
        "kind_prefix": filters.kind_prefix,
        "tag": filters.tag and ":".join(filters.tag),
        "text": filters.text,
        "id_prefix": filters.id_prefix,
        "graph": filters.graph,
        "parent": filters.parent,
        "since": filters.since and filters.since.isoformat(),
        "until": filters.until and filters.until.isoformat(),
        "error_type": filters.error_type,
    }
    return {name: word for name, word in words.items() if word}


def filter_of(words: Mapping[str, Any], tenant: str | None) -> Filter:
    """Return the filter, from other words than those of filters, too; `words_of` is the reverse.

    Times may be moments or texts. Raises InvalidInput.
    """
    plain: dict[str, Any] = {name: words.get(name) for name in _AS_THEY_ARE}
    return Filter(
        tenant=tenant,
        states=_states(words.get("state")),
        tag=_tag(words.get("tag")),
        since=_moment(words.get("since")),
        until=_moment(words.get("until")),
        **plain,
    )


def _states(text: str | None) -> tuple[State, ...]:
    words = [word.strip() for word in text.split(",")] if text else []
    return tuple(State(checks.one_of("state", word, list(State))) for word in words)


def _tag(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, _, value = text.partition(":")
    if not name or not value:
        raise InvalidInput("tag: must be NAME:VALUE", field="tag")
    return name, value


def _moment(given: datetime | str | None) -> datetime | None:
    return datetime.fromisoformat(given) if isinstance(given, str) else given

"""Filters of executions in the words of the HTTP API, the console and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from holdfast.model.listing import Filter
from holdfast.model.states import State


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


def filter_of(words: Mapping[str, str], tenant: str | None) -> Filter:
    """Return the filter; `words_of` is the reverse."""
    state, tag = words.get("state"), words.get("tag")
    name, _, value = (tag or "").partition(":")
    return Filter(
        tenant=tenant,
        states=tuple(State(word) for word in state.split(",")) if state else (),
        lane=words.get("lane"),
        kind=words.get("kind"),
        kind_prefix=words.get("kind_prefix"),
        tag=(name, value) if tag else None,
        text=words.get("text"),
        id_prefix=words.get("id_prefix"),
        graph=words.get("graph"),
        parent=words.get("parent"),
        since=_moment(words.get("since")),
        until=_moment(words.get("until")),
        error_type=words.get("error_type"),
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)

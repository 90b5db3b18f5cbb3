"""Lists of executions and graphs: filters, pages and counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from holdfast.model import checks
from holdfast.model.executions import Execution
from holdfast.model.graphs import GraphState
from holdfast.model.states import State


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFilter:
    """Which graphs to list; an absent field matches any."""

    tenant: str | None = None
    state: str | None = None

    def __post_init__(self) -> None:
        if self.tenant is not None:
            checks.name("tenant", self.tenant)
        if self.state is not None:
            checks.one_of("state", self.state, list(GraphState))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which executions to list; an absent field matches any."""

    tenant: str | None = None
    state: State | None = None
    lane: str | None = None
    kind: str | None = None
    #: One tag, name and value.
    tag: tuple[str, str] | None = None
    #: Members of this graph.
    graph: str | None = None
    #: Children of this execution.
    parent: str | None = None
    #: Created at or after.
    since: datetime | None = None
    #: Created before.
    until: datetime | None = None

    def __post_init__(self) -> None:
        for field_name in ("tenant", "lane"):
            if getattr(self, field_name) is not None:
                checks.name(field_name, getattr(self, field_name))
        if self.kind is not None:
            checks.kind("kind", self.kind)
        if self.state is not None:
            checks.one_of("state", self.state, list(State))
        self._check_relatives()
        self._check_tag()
        for field_name in ("since", "until"):
            if getattr(self, field_name) is not None:
                checks.instant(field_name, getattr(self, field_name))

    def _check_relatives(self) -> None:
        for field_name in ("graph", "parent"):
            value = getattr(self, field_name)
            if value is not None:
                checks.execution_id(field_name, value)
                if self.tag is not None:
                    checks.refuse(field_name, "cannot be combined with a tag", value)
        if self.graph is not None and self.parent is not None:
            checks.refuse("parent", "cannot be combined with a graph", self.parent)

    def _check_tag(self) -> None:
        if self.tag is not None:
            if not isinstance(self.tag, tuple) or len(self.tag) != 2:  # noqa: PLR2004
                checks.refuse("tag", "must be a pair of name and value", self.tag)
            checks.tags("tag", dict([self.tag]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a list, newest first."""

    items: tuple[Execution, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of executions with this tenant, lane, kind and state."""

    tenant: str
    lane: str
    kind: str
    state: State
    count: int

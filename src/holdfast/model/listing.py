"""Lists of executions and graphs: filters, pages and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.model import bounds, checks
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
    #: In one of these states.
    states: tuple[State, ...] = ()
    #: Tasks whose names start so.
    kind_prefix: str | None = None
    #: Failed with this type of error, or expired.
    error_type: str | None = None
    #: Ids that start so.
    id_prefix: str | None = None
    #: In the name or the value of a tag, in any case.
    text: str | None = None
    #: Oldest first; newest first otherwise.
    oldest: bool = False

    @property
    def every_state(self) -> tuple[State, ...]:
        """The states, of which an execution has one; empty for any."""
        return self.states if self.state is None else (self.state,)

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
        self._check_parts()
        for field_name in ("since", "until"):
            if getattr(self, field_name) is not None:
                checks.instant(field_name, getattr(self, field_name))

    def _check_parts(self) -> None:
        for state in self.states:
            checks.one_of("states", state, list(State))
        if self.states and self.state is not None:
            checks.refuse("states", "cannot be combined with a state", self.states)
        if self.kind_prefix is not None:
            checks.kind("kind_prefix", self.kind_prefix)
        if self.error_type is not None:
            checks.text("error_type", self.error_type, bounds.ERROR_TYPE_CHARS, empty=False)
        if self.id_prefix is not None:
            checks.text("id_prefix", self.id_prefix, 2 * bounds.ID_CHARS, empty=False)
        if self.text is not None:
            checks.text("text", self.text, bounds.TAG_VALUE_CHARS, empty=False)
        checks.flag("oldest", self.oldest)

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


#: A count that has no index stops here, so it costs the same for every store.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a call for a page of executions asks for."""

    wanted: Filter
    limit: int
    cursor: str | None
    total: bool
    whys: bool

    def __post_init__(self) -> None:
        checks.integer("limit", self.limit, 1, bounds.PAGE_ITEMS)
        checks.instance("wanted", self.wanted, Filter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """How many executions match a filter."""

    count: int
    #: False if at least this many match: counting the others would cost too much.
    exact: bool

    def __str__(self) -> str:
        return f"{self.count:,}" if self.exact else f"{self.count:,}+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a list, newest or oldest first.

    A filter that has no index can return a short page, even an empty one, though more follow.
    """

    items: tuple[Execution, ...]
    next_cursor: str | None
    #: How many match, if the call asks for it.
    total: Total | None = None
    #: For each execution that has not ended, why it is not running, if the call asks for it.
    whys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of executions with this tenant, lane, kind and state."""

    tenant: str
    lane: str
    kind: str
    state: State
    count: int

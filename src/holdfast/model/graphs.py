"""Values that describe graphs: executions that start when others have ended."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self, TypeVar

import msgspec

from holdfast.errors import CycleDetected, GraphFailed, InvalidGraph
from holdfast.model import bounds, checks
from holdfast.model.bonds import OnParentEnd, check_policy
from holdfast.model.executions import Event, ExecutionId, NewExecution
from holdfast.model.ids import new_id
from holdfast.model.partitions import ROOT_SEPARATOR
from holdfast.model.states import FAILURES, State
from holdfast.model.urls import check_url

_T = TypeVar("_T")

_INPUT = re.compile(r"[^\x00-\x1f\x7f]{1,128}\Z")


class GraphState(StrEnum):
    """The state of a graph."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class On(StrEnum):
    """The end of an upstream that satisfies an edge."""

    SUCCESS = "success"
    #: The upstream failed, expired or was cancelled.
    FAILURE = "failure"
    #: The upstream ended in any state, including skipped.
    ALWAYS = "always"


#: Walking through an enum is slow, and graphs have thousands of edges.
_OUTCOMES = tuple(On)


class CancelPolicy(StrEnum):
    """What happens to the members of a cancelled graph."""

    #: All members that have not ended are cancelled.
    ALL = "cancel_all"
    #: Members that no worker has started yet are cancelled.
    PENDING = "cancel_pending"
    #: Members continue to run.
    LEAVE = "leave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """When a member with several upstreams starts."""

    #: all, any, or quorum: k of them.
    policy: str = "all"
    k: int | None = None
    #: What happens to upstreams that are no longer needed: cancel or keep.
    losers: str = "keep"

    def __post_init__(self) -> None:
        checks.one_of("join.policy", self.policy, ("all", "any", "quorum"))
        checks.one_of("join.losers", self.losers, ("cancel", "keep"))
        if self.policy == "quorum" and self.k is None:
            _invalid("impossible_join", "join.k: is required for a quorum")
        if self.policy == "quorum":
            checks.integer("join.k", self.k, 1, bounds.GRAPH_MEMBERS)
        elif self.k is not None:
            checks.refuse("join.k", "is allowed only with the policy quorum", self.k)

    @classmethod
    def any(cls, *, losers: str = "keep") -> Self:
        """Start when the first upstream satisfies its edge."""
        return cls(policy="any", losers=losers)

    @classmethod
    def quorum(cls, k: int, *, losers: str = "keep") -> Self:
        """Start when k upstreams have satisfied their edges."""
        return cls(policy="quorum", k=k, losers=losers)

    @property
    def is_lax(self) -> bool:
        """Whether it does not need all upstreams."""
        return self.policy != "all"

    def need(self, edges: int) -> int:
        """Return how many of its edges must be satisfied."""
        return self.k if self.k is not None else 1 if self.policy == "any" else edges


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge: one member waits for the end of another."""

    source: str
    target: str
    on: str = On.SUCCESS
    #: The name of the upstream's result in the input; with `[]` at its end, the name of a list.
    input: str | None = None

    def __post_init__(self) -> None:
        member_key("edge.from", self.source)
        member_key("edge.to", self.target)
        checks.one_of("edge.on", self.on, _OUTCOMES)
        if self.input is not None and not (
            isinstance(self.input, str) and _INPUT.match(self.input) and self.input != "[]"
        ):
            checks.refuse("edge.input", "must be a name of 1 to 128 characters", self.input)


def member_key(field_name: str, value: Any) -> str:
    """Check the key of a member: it becomes a part of the member's id."""
    return checks.kind(field_name, value)


def by_key(pairs: Iterable[tuple[str, NewExecution]]) -> dict[str, NewExecution]:
    """Return a list of members by key; refuses a key that is used twice."""
    members: dict[str, NewExecution] = {}
    for key, item in pairs:
        if key in members:
            _invalid("duplicate_member", f"two members have the key {key}", member=key)
        members[key] = item
    return members


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The members and edges of a graph, or of an extension."""

    members: Mapping[str, NewExecution]
    edges: Sequence[Edge] = ()
    joins: Mapping[str, Join] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checks.mapping("members", self.members)
        checks.mapping("joins", self.joins)
        for key, item in self.members.items():
            member_key("member.key", key)
            checks.instance(f"members[{key}]", item, NewExecution)
            for name in ("id", "idempotency_key"):
                if getattr(item, name) is not None:
                    problem = "cannot be set for a member: its id comes from its key"
                    checks.refuse(f"members[{key}].{name}", problem, getattr(item, name))
        for edge in self.edges:
            checks.instance("edge", edge, Edge)
        for key, join in self.joins.items():
            checks.instance(f"joins[{key}]", join, Join)
            if key not in self.members:
                _invalid(
                    "unknown_member", f"joins: {key} is not one of the new members", member=key
                )

    def of_tenant(self, tenant: str) -> Self:
        """Return a copy for a tenant; refuses members of another tenant."""
        own = {
            key: item if item.tenant == tenant else replace(item, tenant=tenant)
            for key, item in self.members.items()
            if item.tenant in {tenant, "default"}
        }
        for key in self.members:
            if key not in own:
                message = f"member {key} belongs to another tenant than its graph"
                _invalid("foreign_member", message, member=key)
        return self.with_members(own)

    def with_members(self, members: Mapping[str, NewExecution]) -> Self:
        """Return a copy with other values of the same members, which were checked before."""
        return _copy(self, members=members)

    def spending(self, budgets: Sequence[str]) -> Self:
        """Return a copy with budgets that all members spend from, besides their own."""
        if not budgets:
            return self
        return self.with_members(
            {
                key: replace(item, budgets=tuple(dict.fromkeys((*item.budgets, *budgets))))
                for key, item in self.members.items()
            }
        )

    def check(self, known: Iterable[str] = (), others: Sequence[Edge] = ()) -> None:
        """Check edges and joins, given the existing members and edges of the graph."""
        keys = {*known, *self.members}
        if len(keys) > bounds.GRAPH_MEMBERS:
            message = f"a graph has at most {bounds.GRAPH_MEMBERS} members"
            _invalid("too_many_members", message)
        if len(self.edges) + len(others) > bounds.GRAPH_EDGES:
            _invalid("too_many_edges", f"a graph has at most {bounds.GRAPH_EDGES} edges")
        check_edges(self.edges, others, keys)
        for edge in self.edges:
            if edge.input and not _takes_names(self.members.get(edge.target)):
                message = (
                    f"an edge passes {edge.input} to {edge.target}, whose input is not an object"
                )
                _invalid("no_object", message, member=edge.target)
        ins: dict[str, int] = {}
        for edge in (*self.edges, *others):
            ins[edge.target] = ins.get(edge.target, 0) + 1
        for key, join in self.joins.items():
            if join.is_lax and not 0 < join.need(ins.get(key, 0)) <= ins.get(key, 0):
                message = f"the join of {key} needs more upstreams than it has"
                _invalid("impossible_join", message, member=key)
        cycle = find_cycle([*others, *self.edges])
        if cycle:
            path = " -> ".join([*cycle, cycle[0]])
            message = f"edges form a cycle: {path}"
            raise CycleDetected(message, field="edges", problem="cycle", cycle=cycle)

    def digest(self, *, is_compared: bool) -> str:
        """Return a short digest of the content."""
        content = [
            [[key, item.digest(is_compared=is_compared)] for key, item in self.members.items()],
            [[e.source, e.target, str(e.on), e.input] for e in self.edges],
            [[key, j.policy, j.k, j.losers] for key, j in sorted(self.joins.items())],
        ]
        packed = msgspec.msgpack.encode(content, order="deterministic")
        return hashlib.blake2b(packed, digest_size=9).hexdigest()


def check_edges(edges: Sequence[Edge], others: Sequence[Edge], keys: set[str]) -> None:
    """Check each edge: its ends are members, it is not a duplicate, its input name is free."""
    pairs = {(edge.source, edge.target) for edge in others}
    names = {(edge.target, edge.input) for edge in others if edge.input}
    for edge in edges:
        for end in (edge.source, edge.target):
            if end not in keys:
                _invalid(
                    "unknown_member", f"an edge names {end}, which is not a member", member=end
                )
        if edge.source == edge.target:
            message = f"member {edge.source} cannot wait for itself"
            raise CycleDetected(message, field="edges", problem="self_edge", cycle=[edge.source])
        pair = (edge.source, edge.target)
        if pair in pairs:
            message = f"there are two edges from {edge.source} to {edge.target}"
            _invalid("duplicate_edge", message, member=edge.target)
        pairs.add(pair)
        if edge.input:
            _check_input(edge.target, edge.input, names)
            names.add((edge.target, edge.input))


def _check_input(target: str, name: str, names: set[tuple[str, str]]) -> None:
    """Check that an input name is free: only names of lists may be shared."""
    bare = name.removesuffix("[]")
    rival = bare if name.endswith("[]") else f"{bare}[]"
    if (target, rival) in names or (bare == name and (target, name) in names):
        message = f"two edges pass the input {bare} to {target}"
        _invalid("duplicate_input", message, member=target)


def _takes_names(member: NewExecution | None) -> bool:
    """Whether results can be merged into its input by name: an object, or null for an empty one."""
    return member is None or member.input == b"null" or member.input.lstrip().startswith(b"{")


def find_cycle(edges: Sequence[Edge]) -> list[str]:
    """Return the members of a cycle in order, none if there is no cycle."""
    after: dict[str, list[str]] = {}
    left: dict[str, int] = {}
    for edge in edges:
        after.setdefault(edge.source, []).append(edge.target)
        left[edge.target] = left.get(edge.target, 0) + 1
        left.setdefault(edge.source, 0)
    free = [key for key, count in left.items() if count == 0]
    while free:
        for target in after.get(free.pop(), ()):
            left[target] -= 1
            if left[target] == 0:
                free.append(target)
    stuck = {key for key, count in left.items() if count > 0}
    if not stuck:
        return []
    before = {e.target: e.source for e in edges if e.source in stuck and e.target in stuck}
    path = [next(iter(before))]
    while before[path[-1]] not in path:
        path.append(before[path[-1]])
    return path[path.index(before[path[-1]]) :][::-1]


def _copy(value: _T, **changes: Any) -> _T:
    """Return a copy of a frozen value with other fields, which were checked before."""
    other = object.__new__(type(value))
    for name in type(value).__slots__:  # type: ignore[attr-defined]
        object.__setattr__(other, name, changes.get(name, getattr(value, name)))
    return other


def _invalid(problem: str, message: str, **context: Any) -> None:
    raise InvalidGraph(message, field="graph", problem=problem, **context)


def member_id(graph_id: str, key: str) -> ExecutionId:
    """Return the id of a member."""
    return ExecutionId(f"{graph_id}{ROOT_SEPARATOR}{key}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGraph:
    """A graph to create."""

    shape: Shape
    id: str | None = None
    tenant: str = "default"
    #: Members that have not ended expire this long after the creation of the graph.
    deadline_ms: int | None = None
    idempotency_key: str | None = None
    #: How long it is kept after its end, with its members; default by outcome and tenant.
    retention_ms: int | None = None
    #: Budgets that all its members spend from.
    budgets: tuple[str, ...] = ()
    #: The URL of a webhook that is called when it has ended.
    on_end: str | None = field(default=None, repr=False)
    #: What happens to a graph of a task when that task's execution ends.
    on_parent_end: str = OnParentEnd.KEEP

    def __post_init__(self) -> None:
        checks.instance("graph", self.shape, Shape)
        if self.on_end is not None:
            check_url("on_end", self.on_end)
        check_policy(self.on_parent_end)
        budgets = checks.names("budgets", self.budgets, bounds.BUDGETS, check=checks.limit)
        object.__setattr__(self, "budgets", budgets)
        checks.name("tenant", self.tenant)
        if self.id is not None:
            checks.id_of("id", self.id, self.tenant)
        if self.deadline_ms is not None:
            checks.integer("deadline_ms", self.deadline_ms, 1, bounds.DURATION_MS)
        if self.retention_ms is not None:
            checks.integer("retention_ms", self.retention_ms, 0, bounds.DURATION_MS)
        if self.idempotency_key is not None:
            checks.text("idempotency_key", self.idempotency_key, bounds.ID_CHARS, empty=False)
            if self.id is not None:
                checks.refuse("idempotency_key", "cannot be combined with id", self.id)
        if not self.shape.members:
            _invalid("no_members", "a graph needs members")
        shape = self.shape.of_tenant(self.tenant).spending(self.budgets)
        object.__setattr__(self, "shape", shape)
        self.shape.check()

    @classmethod
    def of(cls, shape: Shape, fields: Mapping[str, Any]) -> Self:
        """Make a graph of a shape; no other field may be given."""
        checks.known_fields("graph", fields, GRAPH_FIELDS)
        return cls(shape=shape, **fields)

    def with_shape(self, shape: Shape) -> Self:
        """Return a copy with another shape, which was checked before."""
        return _copy(self, shape=shape)

    def digest(self) -> str:
        """Return a short digest of the content; without a name, one that no other graph has."""
        if self.id is None and self.idempotency_key is None:
            return new_id()
        shape = self.shape.digest(is_compared=True)
        digest = f"{shape}.{self.deadline_ms or 0}.{self.retention_ms or 0}"
        if self.on_parent_end != OnParentEnd.KEEP:
            digest = f"{digest}.{self.on_parent_end}"
        return digest if self.on_end is None else f"{digest}.{self.on_end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedGraph:
    """The answer to a creation."""

    id: str
    version: int
    #: Ids of the members by key.
    members: Mapping[str, ExecutionId]
    #: The graph already existed, with the same id or idempotency key.
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The state of a member of a graph."""

    key: str
    id: ExecutionId
    kind: str
    state: State
    join: Join
    #: Its failure does not count: a dependent ran anyway.
    spared: bool
    #: The edges that lead to it.
    edges: Sequence[Edge]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The state of a graph as a whole."""

    id: str
    tenant: str
    state: GraphState
    version: int
    #: How many members it has, and how many of them have not ended.
    size: int
    open: int
    #: Members whose failure counts: no dependent ran anyway.
    failures: int
    #: Budgets that all its members spend from.
    budgets: tuple[str, ...] = ()
    created_at: datetime
    #: When its last member ended.
    completed_at: datetime | None
    deadline_at: datetime | None
    forget_at: datetime | None
    replays: int
    idempotency_key: str | None
    cancel_policy: CancelPolicy | None
    reason: str | None
    #: Members that a cancel of the graph has ended.
    cancelled: int
    #: The execution whose task submitted it, and what happens to the graph when that ends.
    parent: str | None = None
    on_parent_end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphView:
    """A graph with its members and its history."""

    graph: Graph
    members: Mapping[str, Member]
    events: Sequence[Event]

    @property
    def edges(self) -> list[Edge]:
        """All edges."""
        return [edge for member in self.members.values() for edge in member.edges]

    @property
    def leaves(self) -> list[Member]:
        """Members whose success no other member waits for: they have the results of the graph."""
        awaited = {edge.source for edge in self.edges if edge.on == On.SUCCESS}
        return [member for key, member in self.members.items() if key not in awaited]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPage:
    """A page of a list of graphs, newest first."""

    items: Sequence[Graph]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelledGraph:
    """The answer to a cancel."""

    state: GraphState
    #: Members ended so far.
    cancelled: int
    #: With `wait`: members that it should end and that had not ended at the timeout.
    failed: Sequence[ExecutionId] = ()


#: The fields of a graph besides its shape.
GRAPH_FIELDS = (
    "id",
    "tenant",
    "deadline_ms",
    "idempotency_key",
    "retention_ms",
    "budgets",
    "on_end",
    "on_parent_end",
)


def graph_failure(view: GraphView) -> GraphFailed:
    """Make the error of a graph that did not complete."""
    bad = {
        key: str(member.state)
        for key, member in view.members.items()
        if member.state in FAILURES and not member.spared
    }
    shown = ", ".join(f"{key} {state}" for key, state in list(bad.items())[:5])
    message = f"graph {view.graph.id} ended as {view.graph.state}"
    return GraphFailed(
        f"{message}: {shown}" if shown else message,
        id=view.graph.id,
        state=str(view.graph.state),
        members=bad,
    )

"""Graphs of tasks: results are passed from task to task, and the graph is submitted as a whole.

async with app.graph() as g:
    a = g.add(fetch, "https://...")
    b = g.add(parse, a)                 # waits for a and gets its result
    g.add(alarm, a.failed)              # runs if a failed, and gets its error
    g.add(clean_up, after=[b.ended])    # runs however b ended
print(await g.result())
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from holdfast.api import Engine
from holdfast.errors import InvalidInput, TaskError
from holdfast.model import checks
from holdfast.model.executions import ExecutionId, NewExecution
from holdfast.model.graphs import Edge, GraphState, GraphView, Join, On, member_id
from holdfast.worker.durations import Duration, optional_ms
from holdfast.worker.handle import Handle

if TYPE_CHECKING:
    from holdfast.worker.task import Task

R = TypeVar("R")
T = TypeVar("T")

#: Waits; inside a task, without holding its slot.
Waiter = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Ending:
    """A way in which a member may end, for which others wait."""

    node: Node[Any]
    on: On


class Node(Generic[R]):
    """A member of a graph. Passed to another as an argument, it stands for its result."""

    def __init__(self, graph: Graph, key: str, task: Task[Any, R, Any]) -> None:
        self.graph = graph
        self.key = key
        self.task = task

    def __repr__(self) -> str:
        return f"Node({self.key!r})"

    @property
    def failed(self) -> Ending:
        """The member failed, expired or was cancelled."""
        return Ending(self, On.FAILURE)

    @property
    def ended(self) -> Ending:
        """The member ended in any state."""
        return Ending(self, On.ALWAYS)

    @property
    def id(self) -> ExecutionId:
        """The id of its execution, once the graph is submitted."""
        return member_id(self.graph.id, self.key)

    @property
    def handle(self) -> Handle[R]:
        """Its execution."""
        return self.task.handle(self.id)

    async def result(self, *, timeout: Duration | None = None) -> R:
        """Wait for its result."""
        return await self.graph.wait_for(self.handle.result(timeout=timeout))


Upstream = Node[Any] | Ending


class Graph:
    """A graph that is being built, and the one that was submitted.

    The block `async with` submits it at its end; nothing is submitted if the block raises.
    `submit()` submits members that are added later, as long as the graph has not ended.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        *,
        wait: Waiter | None = None,
        deadline: Duration | None = None,
        retention: Duration | None = None,
        **fields: Any,
    ) -> None:
        self._engine = engine
        self._wait = wait
        self._fields = {
            **fields,
            "deadline_ms": optional_ms("deadline", deadline),
            "retention_ms": optional_ms("retention", retention),
        }
        self._id: str | None = None
        #: It was there already: an earlier attempt may have added members, too.
        self._is_known = False
        #: What earlier attempts have added, as far as this one knows.
        self._earlier: frozenset[str] = frozenset()
        #: All members by key.
        self.nodes: dict[str, Node[Any]] = {}
        self._counts: dict[str, int] = {}
        self._members: dict[str, NewExecution] = {}
        self._edges: list[Edge] = []
        self._joins: dict[str, Join] = {}

    @property
    def id(self) -> str:
        """Its id; it has none before it is submitted."""
        if self._id is None:
            message = (
                "the graph is not submitted yet: that happens when its `async with` block ends"
            )
            raise TaskError(message)
        return self._id

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self.submit()

    def add(
        self,
        task: Task[Any, R, Any],
        /,
        *args: Any,
        after: Iterable[Upstream] = (),
        key: str | None = None,
        join: Join | None = None,
        **kwargs: Any,
    ) -> Node[R]:
        """Add a member.

        An argument that is a member, or a list of members, makes it wait for them and get their
        results. `after` lists members to wait for whose results it does not need. `join` says how
        many of them it needs; the default is all. `key` names it; the default is its task's name.
        """
        key = self._key(task.name) if key is None else key
        if key in self.nodes:
            raise InvalidInput(f"key: the graph already has a member {key!r}", field="key")
        item, passed = task.partial_item(args, kwargs, _stands_for)
        edges = list(self._edges_to(key, passed, after))
        node = Node(self, key, task)
        self.nodes[key] = node
        self._members[key] = item
        self._edges += edges
        if join is not None:
            self._joins[key] = checks.instance("join", join, Join)
        return node

    def map(
        self, task: Task[Any, R, Any], items: Iterable[Any], /, *args: Any, **kwargs: Any
    ) -> list[Node[R]]:
        """Add one member for each item, which is its first argument."""
        return [self.add(task, item, *args, **kwargs) for item in items]

    def reduce(
        self, task: Task[Any, R, Any], nodes: Sequence[Upstream], /, *args: Any, **kwargs: Any
    ) -> Node[R]:
        """Add a member whose first argument is the list of the results of others."""
        return self.add(task, list(nodes), *args, **kwargs)

    def _key(self, name: str) -> str:
        while True:
            self._counts[name] = count = self._counts.get(name, 0) + 1
            key = name if count == 1 else f"{name}-{count}"
            if key not in self.nodes:
                return key

    def _edges_to(
        self, key: str, passed: Mapping[str, Any], after: Iterable[Upstream]
    ) -> Iterable[Edge]:
        seen: dict[str, On] = {}
        for upstream, name in _wanted(passed, after):
            ending = Ending(upstream, On.SUCCESS) if isinstance(upstream, Node) else upstream
            checks.instance("after", ending, Ending)
            if ending.node.graph is not self:
                raise InvalidInput(f"{ending.node!r} belongs to another graph", field="after")
            source = ending.node.key
            if source not in seen:
                seen[source] = ending.on
                yield Edge(source=source, target=key, on=ending.on, input=name)
            elif name is not None or seen[source] != ending.on:
                problem = f"{key} waits for {source} twice: name it once"
                raise InvalidInput(problem, field="after")

    async def submit(self) -> Self:
        """Submit it, or what was added since; when this returns, it is held fast."""
        graphs = self._engine().graphs
        if self._id is None:
            answer = await graphs.submit(self._members, self._edges, self._joins, **self._fields)
            self._id, self._is_known = answer.id, answer.duplicate
        elif self._members and not await self._has_grown(self._id):
            await graphs.grow(self._id, members=self._members, edges=self._edges, joins=self._joins)
        self._members, self._edges, self._joins = {}, [], {}
        return self

    async def _has_grown(self, graph_id: str) -> bool:
        """Return whether an earlier attempt has added the new members."""
        if self._is_known and not self._members.keys() <= self._earlier:
            view = await self._engine().graphs.describe(graph_id)
            self._earlier = frozenset(view.members)
        return self._members.keys() <= self._earlier

    def wait_for(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Wait for a part of the graph; inside a task, without holding its slot."""
        return self._wait(work) if self._wait is not None else work

    async def result(self, *, timeout: Duration | None = None) -> dict[str, Any]:
        """Wait for its end; returns by key the results of members that no other waits for.

        Raises:
            GraphFailed: it did not complete; `context` has its state and the failed members.
            ResultNotReady: it did not end in time.
        """
        timeout_ms = optional_ms("timeout", timeout)
        timeout_s = None if timeout_ms is None else timeout_ms / 1000
        results = await self.wait_for(self._engine().graphs.results(self.id, timeout_s=timeout_s))
        return {
            key: self.nodes[key].task.signature.decode_result(result)
            if key in self.nodes
            else result
            for key, result in results.items()
        }

    async def describe(self) -> GraphView:
        """Return the graph and its members."""
        return await self._engine().graphs.describe(self.id)

    async def state(self) -> GraphState:
        """Return its state."""
        return (await self.describe()).graph.state

    async def cancel(self, reason: str = "", *, policy: str = "cancel_all") -> None:
        """Cancel it: all of its members, only the pending ones, or none (`leave`)."""
        await self._engine().graphs.cancel(self.id, policy=policy, reason=reason)

    async def replay(self, reason: str = "") -> None:
        """Run failed members again, and those that were skipped because of them."""
        await self._engine().graphs.replay(self.id, reason=reason)


def _wanted(
    passed: Mapping[str, Any], after: Iterable[Upstream]
) -> Iterable[tuple[Upstream, str | None]]:
    """Yield each upstream and the input name for its result, if there is one."""
    for name, value in passed.items():
        if isinstance(value, Node | Ending):
            yield value, name
        else:
            yield from ((each, f"{name}[]") for each in value)
    yield from ((each, None) for each in after)


def _stands_for(value: Any) -> bool:
    """Whether an argument stands for results of members."""
    if isinstance(value, Node | Ending):
        return True
    if not isinstance(value, list | tuple) or not value:
        return False
    if any(isinstance(each, Node | Ending) for each in value):
        if all(isinstance(each, Node | Ending) for each in value):
            return True
        message = "input: a list mixes members and values; pass them in two arguments"
        raise InvalidInput(message, field="input")
    return False


class SyncGraph:
    """A graph whose calls block, for `def` tasks and SyncClient: `with ctx.graph() as g: ...`."""

    def __init__(self, graph: Graph, block: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._graph = graph
        self._block = block

    def add(self, task: Task[Any, R, Any], /, *args: Any, **kwargs: Any) -> Node[R]:
        """Add a member, as Graph.add does."""
        return self._graph.add(task, *args, **kwargs)

    def map(
        self, task: Task[Any, R, Any], items: Iterable[Any], /, *args: Any, **kwargs: Any
    ) -> list[Node[R]]:
        """Add one member for each item, as Graph.map does."""
        return self._graph.map(task, items, *args, **kwargs)

    def reduce(
        self, task: Task[Any, R, Any], nodes: Sequence[Upstream], /, *args: Any, **kwargs: Any
    ) -> Node[R]:
        """Add a member that gets the results of others, as Graph.reduce does."""
        return self._graph.reduce(task, nodes, *args, **kwargs)

    @property
    def id(self) -> str:
        """Its id; it has none before it is submitted."""
        return self._graph.id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.submit()

    def submit(self) -> Self:
        """Submit it, or what was added since."""
        self._block(self._graph.submit())
        return self

    def result(self, *, timeout: Duration | None = None) -> dict[str, Any]:
        """Wait for its end; returns by key the results of members that no other waits for."""
        results: dict[str, Any] = self._block(self._graph.result(timeout=timeout))
        return results

    def describe(self) -> GraphView:
        """Return the graph and its members."""
        found: GraphView = self._block(self._graph.describe())
        return found

    def cancel(self, reason: str = "", *, policy: str = "cancel_all") -> None:
        """Cancel it."""
        self._block(self._graph.cancel(reason, policy=policy))

    def replay(self, reason: str = "") -> None:
        """Run failed members again."""
        self._block(self._graph.replay(reason))

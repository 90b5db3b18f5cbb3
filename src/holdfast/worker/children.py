"""The children and graphs that an attempt submits, identified by the order of their submission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from holdfast.api import Engine
from holdfast.model.bonds import OnParentEnd
from holdfast.model.executions import Claim
from holdfast.worker.durations import Duration
from holdfast.worker.graphs import Graph, Waiter
from holdfast.worker.revisions import child_fields

if TYPE_CHECKING:
    from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")

#: Numbers of children that each start of a continued execution has for itself.
_BETWEEN = 100_000


class Children:
    """Numbers the children of one attempt; a later attempt gives them the same ids."""

    def __init__(self, engine: Engine, claim: Claim) -> None:
        self._engine = engine
        self._claim = claim
        self._children = self._graphs = claim.continued * _BETWEEN

    def child(self, task: Task[P, R, Any]) -> Task[P, R, Any]:
        """Return a task whose next submission is the next child."""
        self._children += 1
        child_id = f"{self._claim.id}~{self._claim.replays}.{self._children}"
        return task.options(id=child_id, **child_fields(self._claim, task))

    def graph(self, deadline: Duration | None, on_parent_end: OnParentEnd, wait: Waiter) -> Graph:
        """Return the next graph, to be built."""
        self._graphs += 1
        return Graph(
            lambda: self._engine,
            wait=wait,
            id=f"{self._claim.id}~{self._claim.replays}.g{self._graphs}",
            tenant=self._claim.tenant,
            deadline=deadline,
            on_parent_end=on_parent_end,
        )

"""Graphs that run inside a task: an interrupt waits at a waitpoint."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.types import RESUME
from langgraph.pregel import Pregel
from langgraph.types import Command

from typing_extensions import TypedDict

from holdfast.errors import InvalidInput
from holdfast.model import bounds
from holdfast.worker.context import Context


class _Stop(TypedDict):
    """Where a graph stopped: the ids and titles of its interrupts, and a mark of its state."""

    interrupts: list[tuple[str, str]]
    mark: str


async def invoke(
    ctx: Context,
    graph: Pregel[Any, Any, Any, Any],
    input: Any,
    config: RunnableConfig | None = None,
) -> Any:
    """Run a graph to its end inside a task, and return its values.

    The graph needs a checkpointer that outlives the process. By default its thread has the id of
    the execution. A later attempt continues after the last checkpoint. At an interrupt the task
    waits for the waitpoint `interrupt:N`, whose answer is the value of the interrupt.
    """
    if not isinstance(graph.checkpointer, BaseCheckpointSaver):
        raise InvalidInput("graph: compile it with a checkpointer, such as HoldfastSaver")
    run = _Run(graph, graph.checkpointer, _with_thread(config, ctx.id))
    answers: dict[str, Any] = {}
    waits = itertools.count(1)
    mark = ""
    for turn in itertools.count(1):
        stop = await ctx.step(f"graph:{turn}", run.advance, input, answers, mark)
        if not stop["interrupts"]:
            return (await graph.aget_state(run.config)).values
        mark = stop["mark"]
        answers = {
            id: await ctx.wait_for(f"interrupt:{next(waits)}", title=title)
            for id, title in stop["interrupts"]
        }
    raise AssertionError


class _Run:
    """A graph and its thread."""

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        saver: BaseCheckpointSaver[Any],
        config: RunnableConfig,
    ) -> None:
        self._graph = graph
        self._saver = saver
        self.config = config

    async def advance(self, input: Any, answers: Mapping[str, Any], asked: str) -> _Stop:
        """Run until the graph ends or stops at interrupts; safe to repeat after a crash."""
        mark = await self._mark()
        if not mark:
            await self._graph.ainvoke(input, self.config)
        elif mark == asked:
            await self._graph.ainvoke(Command(resume=dict(answers)), self.config)
        else:
            # An earlier attempt was here, and the graph has taken what it was given.
            await self._continue()
        state = await self._graph.aget_state(self.config)
        titles = [(each.id, str(each.value)[: bounds.TITLE_CHARS]) for each in state.interrupts]
        return _Stop(interrupts=titles, mark=await self._mark())

    async def _continue(self) -> None:
        state = await self._graph.aget_state(self.config)
        if state.next:
            await self._graph.ainvoke(None, self.config)

    async def _mark(self) -> str:
        """Return what changes whenever the graph moves or takes an answer; empty before its start."""
        saved = await self._saver.aget_tuple(self.config)
        if saved is None:
            return ""
        taken = [value for _, channel, value in saved.pending_writes or () if channel == RESUME]
        return f"{saved.checkpoint['id']}/{len(taken)}/{taken!r}"


def _with_thread(config: RunnableConfig | None, execution: str) -> RunnableConfig:
    chosen = {"thread_id": execution, **(config or {}).get("configurable", {})}
    return {**(config or {}), "configurable": chosen}

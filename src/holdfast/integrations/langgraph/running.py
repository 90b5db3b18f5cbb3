"""Graphs that run inside a task: an interrupt waits at a waitpoint."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.types import RESUME
from langgraph.pregel import Pregel
from langgraph.types import Command
from typing_extensions import TypedDict

from holdfast.errors import InvalidInput
from holdfast.integrations.agent_steps import title
from holdfast.worker.context import Context


class _Stop(TypedDict):
    """Where a graph stopped: the ids and questions of its interrupts, and a mark of its state."""

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
    waits = itertools.count(1)
    mark = await ctx.step("graph:start", run.mark)
    given = input
    for turn in itertools.count(1):
        stop = await ctx.step(f"graph:{turn}", run.advance, given, mark)
        if not stop["interrupts"]:
            return (await graph.aget_state(run.config)).values
        mark = stop["mark"]
        answers = {
            id: await ctx.wait_for(
                f"interrupt:{next(waits)}", title=title(ctx, "interrupt:", question)
            )
            for id, question in stop["interrupts"]
        }
        given = Command(resume=answers)
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

    async def advance(self, given: Any, seen: str) -> _Stop:
        """Give the graph its input or answers, and run until it ends or stops at interrupts.

        Safe to repeat after a crash: what the graph has taken is not given to it again.
        """
        if await self.mark() == seen or await self._is_at_input():
            await self._invoke(given)
        elif (await self._graph.aget_state(self.config)).next:
            await self._invoke(None)
        state = await self._graph.aget_state(self.config)
        questions = [(each.id, str(each.value)) for each in state.interrupts]
        return _Stop(interrupts=questions, mark=await self.mark())

    async def _invoke(self, given: Any) -> None:
        # A checkpoint is stored before the next node runs, so no node that ended runs again.
        await self._graph.ainvoke(given, self.config, durability="sync")

    async def _is_at_input(self) -> bool:
        """Whether the graph got its input but no node has taken it."""
        saved = await self._saver.aget_tuple(self.config)
        return saved is not None and saved.metadata.get("source") == "input"

    async def mark(self) -> str:
        """Return what changes whenever the graph moves or takes an answer."""
        saved = await self._saver.aget_tuple(self.config)
        if saved is None:
            return ""
        taken = [value for _, channel, value in saved.pending_writes or () if channel == RESUME]
        return f"{saved.checkpoint['id']}/{hashlib.sha256(repr(taken).encode()).hexdigest()}"


def _with_thread(config: RunnableConfig | None, execution: str) -> RunnableConfig:
    chosen = {"thread_id": execution, **(config or {}).get("configurable", {})}
    return {**(config or {}), "configurable": chosen}

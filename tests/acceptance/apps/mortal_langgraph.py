"""A graph of LangGraph whose process dies before every node."""

from __future__ import annotations

import itertools
import operator
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from holdfast import App, Context
from holdfast.integrations.langgraph import HoldfastSaver, invoke
from tests.acceptance.apps.mortal import happens

app = App()


class State(TypedDict):
    """What the nodes pass on."""

    names: Annotated[list[str], operator.add]


def node(name: str) -> Any:
    """Return a node that adds its name."""

    def run(_state: State) -> dict[str, list[str]]:
        happens(name)
        return {"names": [name]}

    return run


graph = StateGraph(State)
NODES = [START, "a", "b", "c", END]
for each in NODES[1:-1]:
    graph.add_node(each, node(each))
for first, second in itertools.pairwise(NODES):
    graph.add_edge(first, second)


@app.task(name="langgraph")
async def work(ctx: Context) -> str:
    """Run the graph."""
    compiled = graph.compile(checkpointer=HoldfastSaver.of(ctx))
    return str((await invoke(ctx, compiled, {"names": []}))["names"])

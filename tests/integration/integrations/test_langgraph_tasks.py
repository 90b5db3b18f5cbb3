"""Graphs of LangGraph inside tasks: interrupts are waitpoints, and crashes repeat no node."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from holdfast import App, Context
from holdfast.integrations.langgraph import HoldfastSaver, invoke
from holdfast.testing import TestApp, crash_everywhere

app = App()
ran: list[str] = []


class State(TypedDict):
    """What the nodes pass on."""

    words: Annotated[list[str], operator.add]


def node(name: str) -> Any:
    def run(state: State) -> dict[str, list[str]]:
        ran.append(name)
        return {"words": [name]}

    return run


def ask(state: State) -> dict[str, list[str]]:
    first = interrupt("first name?")
    second = interrupt("last name?")
    ran.append("ask")
    return {"words": [first, second]}


def built() -> StateGraph[State]:
    graph = StateGraph(State)
    graph.add_node("before", node("before"))
    graph.add_node("ask", ask)
    graph.add_node("after", node("after"))
    graph.add_edge(START, "before")
    graph.add_edge("before", "ask")
    graph.add_edge("ask", "after")
    graph.add_edge("after", END)
    return graph


@app.task
async def greet(ctx: Context) -> list[str]:
    graph = built().compile(checkpointer=HoldfastSaver.of(ctx))
    values = await invoke(ctx, graph, {"words": ["start"]})
    words: list[str] = values["words"]
    return words


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


async def test_interrupts_wait_for_people(holdfast_store: Any) -> None:
    """Each interrupt is a waitpoint with its question; the answers reach the node in order."""
    async with TestApp(app, store=holdfast_store) as t:
        t.answer("interrupt:1", "answer", "Ada")
        t.answer("interrupt:2", "answer", "Lovelace")
        assert await t.run(greet) == ["start", "before", "Ada", "Lovelace", "after"]
    assert ran == ["before", "ask", "after"]


async def test_crashes_repeat_no_node_that_ended(holdfast_store: Any) -> None:
    """Wherever the worker dies, the values are the same."""
    async with TestApp(app, store=holdfast_store) as t:
        t.answer("interrupt:1", "answer", "Ada")
        t.answer("interrupt:2", "answer", "Lovelace")
        report = await crash_everywhere(t, greet)
    assert report.result == ["start", "before", "Ada", "Lovelace", "after"]

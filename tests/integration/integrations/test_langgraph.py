"""The checkpointer and the store of LangGraph on a real store."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import ListNamespacesOp, PutOp

from holdfast.errors import InvalidInput
from holdfast.integrations.langgraph import HoldfastSaver, HoldfastStore
from holdfast.integrations.langgraph.connection import Connection
from holdfast.model.codec import AesGcm
from holdfast.store.store import Store
from holdfast.store.valkey.client import Client
from holdfast.testing.servers import TestServer
from tests.conftest import make_store
from tests.support.dump import dump_keys


def saver_on(store: Store, **options: Any) -> HoldfastSaver:
    return HoldfastSaver(Connection(store, asyncio.get_running_loop()), **options)


async def test_the_conformance_suite_passes(store: Store) -> None:
    """Every base and every extended capability, on one server and on a cluster."""

    async def savers() -> AsyncIterator[BaseCheckpointSaver[str]]:
        yield saver_on(store)

    report = await validate(checkpointer_test(name="HoldfastSaver")(savers))
    assert {name: each.failures for name, each in report.results.items() if not each.passed} == {}
    assert len(report.results) == 8
    assert report.passed_all()


class Numbers(TypedDict):
    """The state of a graph."""

    sums: Annotated[list[int], operator.add]


def counting() -> StateGraph[Numbers]:
    graph = StateGraph(Numbers)
    graph.add_node("one", lambda state: {"sums": [len(state["sums"])]})
    graph.add_node("two", lambda state: {"sums": [len(state["sums"])]})
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    graph.add_edge("two", END)
    return graph


CONFIG: Any = {"configurable": {"thread_id": "t"}}
OTHER: Any = {"configurable": {"thread_id": "u"}}


def test_blocking_code_needs_no_event_loop(url: str) -> None:
    """`with` opens the store in a thread; the next process continues the thread of checkpoints."""
    for expected in ([0, 1], [0, 1, 2, 3]):
        with HoldfastSaver.from_url(url) as saver:
            graph = counting().compile(checkpointer=saver)
            assert graph.invoke({"sums": []}, CONFIG)["sums"] == expected
            assert asyncio.run(graph.ainvoke(None, CONFIG)) is not None
    with HoldfastSaver.from_url(url) as saver:
        history = list(counting().compile(checkpointer=saver).get_state_history(CONFIG))
        fork = history[2]
        assert fork.next == ("one",)
        assert counting().compile(checkpointer=saver).invoke(None, fork.config)["sums"][-1] == 3
        saver.copy_thread("t", "u")
        saver.prune(["u"])
        assert len(list(saver.list(OTHER))) == 1
        saver.delete_thread("t")
        assert [each.config["configurable"]["thread_id"] for each in saver.list(None)] == ["u"]


async def test_blocking_calls_are_refused_on_the_loop_of_the_store(url: str) -> None:
    """They would wait for themselves; and a server is no store."""
    async with HoldfastSaver.from_url(url) as saver:
        with pytest.raises(InvalidInput, match="use its async form"):
            saver.get_tuple(CONFIG)
        assert await asyncio.to_thread(saver.get_tuple, CONFIG) is None
    with pytest.raises(InvalidInput, match="not to a server"):
        async with HoldfastSaver.from_url("http://localhost:8080"):
            pass


async def test_pruning_keeps_what_deltas_build_on(single_store: Store) -> None:
    """A channel of deltas needs the checkpoints back to its last snapshot."""
    saver = saver_on(single_store)
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for number in range(5):
        checkpoint = {**empty_checkpoint(), "id": f"{number}", "channel_versions": {"d": number}}
        if number in (0, 2):
            checkpoint["channel_values"] = {"d": [number]}
        metadata: Any = {"counters_since_delta_snapshot": {"d": (number, number)}}
        config = await saver.aput(config, checkpoint, metadata, {"d": number})  # type: ignore[arg-type]
    await saver.aprune(["t"])
    kept = [each.checkpoint["id"] async for each in saver.alist(CONFIG)]
    assert kept == ["4", "3", "2"]
    with pytest.raises(InvalidInput, match="strategy"):
        await saver.aprune(["t"], strategy="other")


async def test_checkpoints_and_memories_are_sealed(
    single_client: Client, single_server: TestServer
) -> None:
    """With a codec nothing of them is readable in the store, and all of it comes back."""
    store = await make_store(single_client, 1, codec=AesGcm({"k": b"0" * 32}))
    saver = saver_on(store)
    graph = counting().compile(checkpointer=saver)
    config: Any = {**CONFIG, "metadata": {"who": "confidential"}}
    await graph.ainvoke({"sums": [424242]}, config)
    await saver.acopy_thread("t", "u")
    assert (await graph.aget_state(OTHER)).values["sums"] == [424242, 1, 2]
    memories = HoldfastStore(saver)
    await memories.aput(("a",), "k", {"likes": "confidential"})
    assert await memories.asearch(("a",), filter={"likes": "confidential"})
    stored = str(dump_keys([single_server], store.prefix))
    assert "confidential" not in stored
    assert stored.count("checkpoints:default|") == 2


async def test_memories_are_found_and_end(store: Store) -> None:
    """By namespace and filter; with times, in batches, and for one tenant."""
    memories = HoldfastStore(saver_on(store, tenant="acme"), ttl={"default_ttl": 1})
    await memories.aput(("users", "ann"), "food", {"likes": "figs", "stars": 5})
    await memories.aput(("users", "bob"), "food", {"likes": "rice", "stars": 3})
    await memories.aput(("users", "ann", "old"), "food", {"likes": "milk", "stars": 1})
    found = await memories.asearch(("users",), filter={"stars": {"$gte": 3}})
    assert sorted(item.value["likes"] for item in found) == ["figs", "rice"]
    assert [i.key for i in await memories.asearch(("users", "ann"), offset=1)] == ["food"]
    assert await memories.asearch(("users",), filter={"likes": "figs", "stars": 1}) == []
    item = await memories.aget(("users", "ann"), "food")
    assert item is not None
    assert item.value == {"likes": "figs", "stars": 5}
    assert await memories.alist_namespaces(prefix=("users", "*"), max_depth=2) == [
        ("users", "ann"),
        ("users", "bob"),
    ]
    assert await memories.alist_namespaces(suffix=("old",)) == [("users", "ann", "old")]
    await memories.adelete(("users", "bob"), "food")
    ops = [PutOp(("a",), "k", {"n": 1}), PutOp(("a",), "k", {"n": 2})]
    await memories.abatch([*ops, ListNamespacesOp()])
    assert (await memories.aget(("a",), "k")).value == {"n": 2}  # type: ignore[union-attr]
    assert await HoldfastStore(memories.connection).aget(("a",), "k") is None
    with pytest.raises(InvalidInput, match="no search by meaning"):
        await memories.asearch(("a",), query="fruit")
    with pytest.raises(InvalidInput, match="no operator"):
        await memories.asearch(("a",), filter={"n": {"$in": 1}})


def test_memories_of_blocking_code(url: str) -> None:
    """`with` opens the store in a thread."""
    with HoldfastStore.from_url(url) as memories:
        memories.put(("a",), "k", {"n": 1})
        found = memories.get(("a",), "k")
        assert found is not None
        assert found.value == {"n": 1}

"""Graphs as they are asked for: what is refused before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.errors import CycleDetected, InvalidGraph, InvalidInput
from holdfast.model import bounds
from holdfast.model.graphs import Edge, Join, NewGraph, Shape, by_key, find_cycle, member_id
from tests.support.graphs import edges, members


def graph(keys: str, *texts: str, joins: dict[str, Join] | None = None, **fields: Any) -> NewGraph:
    shape = Shape(members=members(keys.split()), edges=edges(*texts), joins=joins or {})
    return NewGraph(shape=shape, **fields)


@pytest.mark.parametrize(
    ("keys", "texts", "problem"),
    [
        ("", (), "no_members"),
        ("a b", ("a>c",), "unknown_member"),
        ("a b", ("c>a",), "unknown_member"),
        ("a b", ("a>b", "a>b"), "duplicate_edge"),
        ("a b", ("a>b", "a!b"), "duplicate_edge"),
        ("a b c", ("a>c:x", "b>c:x"), "duplicate_input"),
        ("a b c", ("a>c:x", "b>c:x[]"), "duplicate_input"),
        ("a b c", ("a>c:x[]", "b>c:x"), "duplicate_input"),
    ],
)
def test_a_shape_that_makes_no_sense(keys: str, texts: tuple[str, ...], problem: str) -> None:
    """Each has a word of its own."""
    with pytest.raises(InvalidGraph) as raised:
        graph(keys, *texts)
    assert raised.value.code == "invalid_graph"
    assert raised.value.context["problem"] == problem


def test_inputs_may_be_shared_by_lists_and_by_other_members() -> None:
    """A list collects; names of different members have nothing to do with each other."""
    graph("a b c d", "a>c:x[]", "b>c:x[]", "a>d:x", "b>d:y")


@pytest.mark.parametrize(
    ("texts", "cycle"),
    [
        (("a>a",), ["a"]),
        (("a>b", "b>a"), ["a", "b"]),
        (("a>b", "b>c", "c>d", "d>b"), ["b", "c", "d"]),
        (("a!b", "b*a"), ["a", "b"]),
    ],
)
def test_a_cycle_is_named(texts: tuple[str, ...], cycle: list[str]) -> None:
    """In the order of its edges, from wherever."""
    with pytest.raises(CycleDetected) as raised:
        graph("a b c d", *texts)
    found = raised.value.context["cycle"]
    start = found.index(cycle[0])
    assert found[start:] + found[:start] == cycle
    assert raised.value.context["problem"] == ("self_edge" if len(cycle) == 1 else "cycle")


def test_a_list_of_members_has_each_key_once() -> None:
    """A mapping would lose one of them silently."""
    (item,) = members("a").values()
    assert list(by_key([("a", item), ("b", item)])) == ["a", "b"]
    with pytest.raises(InvalidGraph) as raised:
        by_key([("a", item), ("b", item), ("a", item)])
    assert raised.value.context["problem"] == "duplicate_member"


def test_a_long_chain_is_no_cycle() -> None:
    """However many members there are; nothing recurses."""
    chain = [Edge(source=f"m{n}", target=f"m{n + 1}") for n in range(9_999)]
    assert find_cycle(chain) == []
    assert len(find_cycle([*chain, Edge(source="m9999", target="m0")])) == 10_000


@pytest.mark.parametrize(
    ("join", "count", "possible"),
    [
        (Join.any(), 0, False), (Join.any(), 1, True),
        (Join.quorum(2), 1, False), (Join.quorum(2), 2, True), (Join(), 0, True),
    ],
)  # fmt: skip
def test_a_join_needs_upstreams(join: Join, count: int, *, possible: bool) -> None:
    """As many as it asks for."""
    texts = [f"u{n}>d" for n in range(count)]
    keys = " ".join(["d", *(f"u{n}" for n in range(count))])
    if possible:
        graph(keys, *texts, joins={"d": join})
        return
    with pytest.raises(InvalidGraph) as raised:
        graph(keys, *texts, joins={"d": join})
    assert raised.value.context["problem"] == "impossible_join"


@pytest.mark.parametrize(
    "fields",
    [
        {"policy": "most"}, {"losers": "kill"}, {"policy": "quorum"}, {"policy": "any", "k": 1},
        {"policy": "quorum", "k": 0}, {"policy": "quorum", "k": True},
        {"policy": "quorum", "k": bounds.GRAPH_MEMBERS + 1},
    ],
)  # fmt: skip
def test_joins_are_checked(fields: dict[str, Any]) -> None:
    """Nothing is guessed."""
    with pytest.raises(InvalidInput):
        Join(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "a b"}, {"target": ""}, {"target": "x~y"}, {"on": "sometimes"},
        {"input": ""}, {"input": "[]"}, {"input": "a\nb"}, {"input": 7}, {"input": "x" * 129},
    ],
)  # fmt: skip
def test_edges_are_checked(fields: dict[str, Any]) -> None:
    """Keys become parts of ids."""
    with pytest.raises(InvalidInput):
        Edge(**{"source": "a", "target": "b", **fields})


@pytest.mark.parametrize("name", ["id", "idempotency_key"])
def test_a_member_has_no_name_of_its_own(name: str) -> None:
    """Its key is enough."""
    with pytest.raises(InvalidInput) as raised:
        Shape(members=members("a", **{name: "mine"}))
    assert raised.value.context["field"] == f"members[a].{name}"


def test_members_belong_to_the_tenant_of_the_graph() -> None:
    """Those that name none get it; those of another are foreign."""
    shape = Shape(members=members("a") | members("b", tenant="t"))
    assert {item.tenant for item in NewGraph(shape=shape, tenant="t").shape.members.values()} == {
        "t"
    }
    with pytest.raises(InvalidGraph) as raised:
        NewGraph(shape=shape)
    assert raised.value.context["problem"] == "foreign_member"


@pytest.mark.parametrize(
    "fields",
    [
        {"tenant": "a b"}, {"id": ""}, {"deadline_ms": 0}, {"deadline_ms": 1.5},
        {"retention_ms": -1}, {"idempotency_key": ""}, {"idempotency_key": "k", "id": "i"},
    ],
)  # fmt: skip
def test_fields_of_a_graph_are_checked(fields: dict[str, Any]) -> None:
    """Like those of executions."""
    with pytest.raises(InvalidInput):
        graph("a", **fields)


def test_a_graph_has_its_limits() -> None:
    """In members and in edges."""
    with pytest.raises(InvalidGraph) as raised:
        NewGraph(shape=Shape(members=members(f"m{n}" for n in range(bounds.GRAPH_MEMBERS + 1))))
    assert raised.value.context["problem"] == "too_many_members"
    dense = [Edge(source=f"m{a}", target=f"m{b}") for b in range(450) for a in range(b)]
    with pytest.raises(InvalidGraph) as raised:
        NewGraph(shape=Shape(members=members(f"m{n}" for n in range(450)), edges=dense))
    assert raised.value.context["problem"] == "too_many_edges"


def test_the_digest_tells_graphs_apart() -> None:
    """Content counts, names do not."""
    one = graph("a b", "a>b")
    named = graph("a b", "a>b", id="x")
    assert named.digest() == graph("a b", "a>b", idempotency_key="y").digest()
    others = [
        graph("a b"), graph("a b", "a!b"), graph("a b", "a>b:x"), graph("b a", "a>b"),
        graph("a b", "a>b", joins={"b": Join.any()}), graph("a b", "a>b", deadline_ms=5),
    ]  # fmt: skip
    assert len({one.digest(), *(other.digest() for other in others)}) == len(others) + 1


def test_the_id_of_a_member() -> None:
    """It shares the partition of its graph."""
    assert member_id("g1", "a/b") == "g1~a/b"

"""hf_graph_members."""

from __future__ import annotations

import pytest

from holdfast.errors import GraphNotFound
from holdfast.model.graphs import Edge, Join, On
from holdfast.store import graphs as store_graphs
from holdfast.store.store import Store
from tests.support.graphs import submit


async def test_members_with_their_edges_and_joins(store: Store) -> None:
    """In the order of their creation, as they were submitted."""
    joins = {"d": Join.quorum(2, losers="cancel"), "e": Join.any()}
    run = await submit(store, "c a b d e", "a>d:x", "b!d", "c*d", "d>e", joins=joins)
    version, found = await store.graphs.members(run.id)
    assert (version, list(found)) == (1, ["c", "a", "b", "d", "e"])
    assert found["d"].edges == [
        Edge(source="a", target="d", on=On.SUCCESS, input="x"),
        Edge(source="b", target="d", on=On.FAILURE),
        Edge(source="c", target="d", on=On.ALWAYS),
    ]
    assert (found["d"].join, found["e"].join, found["a"].join) == (joins["d"], joins["e"], Join())
    assert (found["d"].id, found["d"].kind) == (f"{run.id}~d", "work")


async def test_all_pages_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time."""
    monkeypatch.setattr(store_graphs, "MEMBERS_IN_PAGE", 2)
    for count in (1, 2, 5):
        run = await submit(store, [f"m{n}" for n in range(count)])
        assert len((await store.graphs.members(run.id))[1]) == count


async def test_spared_failures_are_marked(store: Store) -> None:
    """So that readers know which of them count."""
    run = await submit(store, "a h b", "a!h")
    await run.fail("a", "b")
    _, found = await store.graphs.members(run.id)
    assert [member.spared for member in found.values()] == [True, False, False]


async def test_members_of_no_graph(store: Store) -> None:
    """There are none."""
    with pytest.raises(GraphNotFound):
        await store.graphs.members("nobody")

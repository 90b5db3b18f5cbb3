"""Where consoles draw the members of a graph and the nodes of a flow."""

from __future__ import annotations

import httpx

from holdfast.model.executions import NewExecution
from holdfast.model.graphs import Edge
from holdfast.testing.clock import Clock
from tests.server.conftest import OURS, Site
from tests.server.samples import MAKERS


async def test_members_have_places_and_edges_have_points(
    site: Site, anyone: httpx.AsyncClient
) -> None:
    """They stay while only states change; a change of shape gives a new revision."""
    keys = ("fetch", "left", "right", "join")
    members = {key: NewExecution(kind="k") for key in keys}
    pairs = (("fetch", "left"), ("fetch", "right"), ("left", "join"), ("right", "join"))
    edges = [Edge(source=source, target=target) for source, target in pairs]
    made = await site.engine.graphs.submit(members, edges)
    view = (await anyone.get(f"/v1/graphs/{made.id}/layout")).json()
    nodes = {node["key"]: node for node in view["nodes"]}
    assert nodes["fetch"]["y"] < nodes["left"]["y"] == nodes["right"]["y"] < nodes["join"]["y"]
    assert abs(nodes["left"]["x"] - nodes["right"]["x"]) >= nodes["left"]["w"]
    for edge in view["edges"]:
        first, last = edge["points"][0], edge["points"][-1]
        assert first == [nodes[edge["from"]]["x"], nodes[edge["from"]]["y"]]
        assert last == [nodes[edge["to"]]["x"], nodes[edge["to"]]["y"]]
    await site.engine.cancel(nodes["fetch"]["id"])
    again = (await anyone.get(f"/v1/graphs/{made.id}/layout")).json()
    assert (again["revision"], again["size"]) == (view["revision"], view["size"])
    assert next(n for n in again["nodes"] if n["key"] == "fetch")["state"] == "cancelled"


async def test_a_layout_that_is_kept_suits_each_reader(site: Site) -> None:
    """Ids are those of the reader, and states those of now."""
    member = NewExecution(kind="k", tenant=OURS)
    made = await site.engine.graphs.submit({"only": member}, id="kept", tenant=OURS)
    stored = made.members["only"]
    known = stored.removeprefix(f"{OURS}=")
    assert known != stored
    async with (
        site.client(await site.key()) as own,
        site.client(await site.key(tenant=None)) as all_,
    ):

        async def seen() -> list[tuple[str, str]]:
            views = [(await one.get(f"/v1/graphs/{made.id}/layout")).json() for one in (own, all_)]
            return [(node["id"], node["state"]) for view in views for node in view["nodes"]]

        assert await seen() == [(known, "waiting"), (stored, "waiting")]
        await site.engine.cancel(stored)
        assert await seen() == [(known, "cancelled"), (stored, "cancelled")]


async def test_a_new_graph_with_the_id_of_a_forgotten_one_is_drawn(
    site: Site, anyone: httpx.AsyncClient, clock: Clock
) -> None:
    """Its layout is its own, though id and revision are the same."""
    for key in ("old", "new"):
        await site.engine.graphs.submit({key: NewExecution(kind="k")}, id="g", retention_ms=0)
        view = (await anyone.get("/v1/graphs/g/layout")).json()
        assert [node["key"] for node in view["nodes"]] == [key]
        await site.engine.graphs.cancel("g")
        await clock.advance_and_tick(1)


async def test_a_flow_of_a_pack_is_drawn_for_those_who_have_it(site: Site) -> None:
    """Every way leads from a node to a node; other tenants do not see the pack."""
    digest = await MAKERS["packs.digest"](site.engine, OURS)
    flow = await MAKERS["packs.flow"](site.engine, OURS)
    path = f"/v1/packs/{digest}/flows/{flow}/layout"
    async with site.client(await site.key(tenant=OURS)) as ours:
        view = (await ours.get(path)).json()
    keys = {node["key"] for node in view["nodes"]}
    assert view["flow"] == flow
    assert view["start"] in keys
    assert all({edge["from"], edge["to"]} <= keys for edge in view["edges"])
    assert all(node["x"] <= view["size"]["w"] for node in view["nodes"])
    async with site.client(await site.key(tenant="other")) as other:
        assert (await other.get(path)).json()["code"] == "pack_not_found"

"""What must always hold for the stored data of graphs, computed anew from the members' records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

Record = dict[str, bytes]
Families = dict[str, dict[str, Any]]

GRAPH_FAMILIES = ("graph", "gm", "ge", "gw", "gk", "gl", "gs", "ga", "gr", "gc", "gtenants")

_BAD = (b"failed", b"cancelled", b"expired")
_TERMINAL = (b"completed", b"skipped", *_BAD)
_UNDECIDED = (b"waiting_children", b"staged")


def graph_timers(families: Families) -> dict[bytes, float | None]:
    """Return when the timer of each graph must fire; one with work to do fires at once."""
    timers: dict[bytes, float | None] = {}
    for graph_id, graph in families["graph"].items():
        dues = [float(graph[b"due"])] if b"due" in graph else []
        if b"deadline" in graph and b"ended" not in graph and b"expired" not in graph:
            dues.append(float(graph[b"deadline"]))
        name = b"g:" + graph_id.encode()
        if _has_work(families, graph_id):
            timers[name] = families["timers"].get("", {}).get(name, -1.0)
        else:
            timers[name] = min(dues, default=None)
    return timers


def _has_work(families: Families, graph_id: str) -> bool:
    return graph_id in families["gw"] or graph_id in families["gk"]


def graph_problems(families: Families, records: dict[str, Record]) -> Iterator[str]:
    """Yield what is wrong with the graphs of a partition."""
    cells: dict[str, dict[bytes, float]] = defaultdict(dict)
    for graph_id, graph in families["graph"].items():
        members = {name.decode() for name in families["gm"].get(graph_id, {})}
        if graph[b"state"] != b"staging":
            cell = f"{graph[b'tenant'].decode()}|{graph[b'state'].decode()}"
            cells[cell][graph_id.encode()] = float(graph[b"born"])
            problems = _check_graph(families, graph_id, graph, members)
            yield from (f"graph {graph_id}: {problem}" for problem in problems)
        elif any(families["x"][name][b"state"] != b"staged" for name in members):
            yield f"graph {graph_id}: is staged and has a member that is not"
    if families["gc"] != cells:
        yield f"graphs are listed as {families['gc']}, should be {dict(cells)}"
    tenants = {cell.split("|")[0].encode() for cell in cells}
    if set(families["gtenants"].get("", ())) != tenants:
        yield f"tenants of graphs are {families['gtenants']}, should be {tenants}"
    yield from _check_owners(families, records)


def _check_owners(families: Families, records: dict[str, Record]) -> Iterator[str]:
    for family in ("gm", "ge", "gw", "gk", "gl", "gs", "ga", "gr"):
        for graph_id in families[family].keys() - families["graph"].keys():
            yield f"key {family}:{graph_id} belongs to no graph"
    unarchived = families["unarchived"].get("", {})
    for execution_id, record in records.items():
        gone = "graph" in record and record["graph"].decode() not in families["graph"]
        if gone and execution_id.encode() not in unarchived:
            yield f"execution {execution_id}: its graph is gone"


def _check_graph(
    families: Families, graph_id: str, graph: dict[bytes, bytes], members: set[str]
) -> Iterator[str]:
    raw = {name: families["x"].get(name, {}) for name in members}
    states = {name: fields.get(b"state", b"") for name, fields in raw.items()}
    is_open = [name for name in members if states[name] not in _TERMINAL]
    bad = [n for n in members if states[n] in _BAD and b"spared" not in raw[n]]
    found = {
        b"members": len(members),
        b"open": len(is_open),
        b"bad": len(bad),
    }
    for name, count in found.items():
        if int(graph.get(name, 0)) != count:
            yield f"says {name.decode()} {graph.get(name)!r}, there are {count}"
    has_work = _has_work(families, graph_id)
    if (b"ended" in graph) != (not is_open and not has_work):
        yield f"has {len(is_open)} open members, its end says otherwise"
    if b"ended" in graph and b"cancel" not in graph:
        state = b"failed" if bad else b"completed"
        if graph[b"state"] != state:
            yield f"is {graph[b'state']!r}, should be {state!r}"
    if (b"watched" in graph) != (graph_id in families["gs"]):
        yield "is watched or not: its record and its watchers disagree"
    if not has_work and b"mute" not in graph:
        yield from _check_members(families, graph_id, raw)


def _check_members(
    families: Families, graph_id: str, raw: dict[str, dict[bytes, bytes]]
) -> Iterator[str]:
    edges = {
        k.decode(): msgspec.msgpack.decode(v) for k, v in families["ge"].get(graph_id, {}).items()
    }
    outs: dict[str, list[str]] = defaultdict(list)
    for member, fields in raw.items():
        key = member[len(graph_id) + 1 :]
        ins = edges.get("<" + key, [])
        if int(fields.get(b"ins", 0)) != len(ins) // 3:
            yield f"member {key} says ins {fields.get(b'ins')!r}, it has {len(ins) // 3}"
        if b"told" in fields:
            yield f"member {key} is still being told"
        states = []
        for source, on, _ in zip(ins[::3], ins[1::3], ins[2::3], strict=True):
            outs[source] += (key, on)
            states.append((on, raw[f"{graph_id}~{source}"][b"state"]))
        if fields[b"state"] in _UNDECIDED:
            yield from (f"member {key} {problem}" for problem in _check_counts(fields, states))
    listed = {k[1:]: v for k, v in edges.items() if k.startswith(">")}
    for source in listed.keys() | outs.keys():
        pairs = [listed.get(source, []), outs.get(source, [])]
        first, second = (sorted(zip(p[::2], p[1::2], strict=True)) for p in pairs)
        if first != second:
            yield f"member {source} has the out-edges {first}, should have {second}"


def _check_counts(fields: dict[bytes, bytes], ins: list[tuple[str, bytes]]) -> Iterator[str]:
    """Check what a member that waits has counted."""
    ended = [_meets(on, state) for on, state in ins if state in _TERMINAL]
    met, unmet = sum(ended), len(ended) - sum(ended)
    counts = int(fields.get(b"met", 0)), int(fields.get(b"unmet", 0))
    if counts != (met, unmet):
        yield f"counts {counts}, should be {(met, unmet)}"
    # One that has no upstreams waits only until its graph starts it.
    need = int(fields.get(b"need", 0))
    if need and (met >= need or unmet > len(ins) - need):
        yield "is decided and waits"


def _meets(on: str, state: bytes) -> bool:
    if on == "s":
        return state == b"completed"
    return on == "a" or state in _BAD

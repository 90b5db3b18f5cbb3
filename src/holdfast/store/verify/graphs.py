"""Rules of graphs: the lists that they are in, their counters, and the edges of their members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from holdfast.store.verify import bonds
from holdfast.store.verify.drifts import Drift, Entry, Kind, in_record
from holdfast.store.verify.view import Record, View

#: What a graph owns besides its record.
OWNED = ("gm", "ge", "gw", "gk", "gl", "gs", "ga", "gr")
STATES = ("running", "completed", "failed", "cancelled")
#: The members of a larger graph are checked one by one, but not compared with its counters: that
#: would occupy the server for long.
MOST_MEMBERS = 1000

_BAD = (b"failed", b"cancelled", b"expired")
_TERMINAL = (b"completed", b"skipped", *_BAD)
_UNDECIDED = (b"waiting_children", b"staged")
_COUNTERS = ("members", "open", "bad")


def is_leaving(graph: Record) -> bool:
    """Return whether some of its members are removed, and the others follow."""
    return "gone" in graph


def entries(view: View, graph_id: str) -> Iterator[Entry]:
    """Return the places of a graph in lists and timers."""
    graph = view.record(f"graph:{graph_id}")
    if graph is None:
        return
    member = graph_id.encode()
    if is_leaving(graph):
        if "held" in graph and not view.has(f"gm:{graph_id}"):
            # Only its record is left, until the archive has its last member.
            return
        # The timer that removes it fires at once.
        yield Entry("timers", b"g:" + member, default=0.0)
        return
    if graph["state"] != b"staging":
        born = float(graph["born"])
        place = f"{graph['tenant'].decode()}|{graph['state'].decode()}"
        yield Entry(f"gc:{place}", member, born)
    dues = [float(graph["due"])] if "due" in graph else []
    if "deadline" in graph and "ended" not in graph and "expired" not in graph:
        dues.append(float(graph["deadline"]))
    if _has_work(view, graph_id):
        # The timer of one with work to do fires at once.
        yield Entry("timers", b"g:" + member, default=0.0)
    elif dues:
        yield Entry("timers", b"g:" + member, min(dues))
    if "bond" in graph and "ended" not in graph:
        # A parent that has ended lets go of a graph, and cancels it.
        for entry in bonds.place_of(view, graph_id, graph):
            yield replace(entry, optional=entry.optional or "cancel" in graph)


def drifts(view: View, graph_id: str) -> Iterator[Drift]:
    """Return what is wrong with a graph itself."""
    graph = view.record(f"graph:{graph_id}")
    if graph is None or is_leaving(graph) or view.size(f"gm:{graph_id}") > MOST_MEMBERS:
        return
    keys = (f"gm:{graph_id}", f"ge:{graph_id}")
    view.prefetch(("v", key, b"") for key in keys)
    members = {name.decode() for name in view.value(keys[0]) or {}}
    view.prefetch(("v", f"x:{name}", b"") for name in members)
    raw = {name: view.record(f"x:{name}") or {} for name in members}
    about = f"graph {graph_id}:"
    if graph["state"] == b"staging":
        if any(fields.get("state") != b"staged" for fields in raw.values()):
            yield Drift(Kind.RECORD, about, "is staged and has a member that is not")
        return
    yield from _check_counters(graph_id, graph, raw)
    yield from in_record(about, _check_graph(view, graph_id, graph, raw))


def _check_counters(graph_id: str, graph: Record, raw: dict[str, Record]) -> Iterator[Drift]:
    for name, count in zip(_COUNTERS, _counts(raw), strict=True):
        if int(graph.get(name, 0)) != count:
            text = f"says {name} {graph.get(name)!r}, there are {count}"
            repair = ("HSET", f"graph:{graph_id}", name, str(count))
            yield Drift(Kind.COUNT, f"graph {graph_id}:", text, (repair,))


def _counts(raw: dict[str, Record]) -> tuple[int, int, int]:
    """Return how many members there are, have not ended, and ended with a failure that counts."""
    states = [fields.get("state", b"") for fields in raw.values()]
    bad = sum(f.get("state") in _BAD and "spared" not in f for f in raw.values())
    return len(raw), sum(state not in _TERMINAL for state in states), bad


def _has_work(view: View, graph_id: str) -> bool:
    return view.has(f"gw:{graph_id}") or view.has(f"gk:{graph_id}")


def _check_graph(view: View, graph_id: str, graph: Record, raw: dict[str, Record]) -> Iterator[str]:
    _, still_open, bad = _counts(raw)
    has_work = _has_work(view, graph_id)
    if ("ended" in graph) != (not still_open and not has_work):
        yield f"has {still_open} open members, its end says otherwise"
    if "ended" in graph and "cancel" not in graph:
        state = b"failed" if bad else b"completed"
        if graph["state"] != state:
            yield f"is {graph['state']!r}, should be {state!r}"
    if ("watched" in graph) != view.has(f"gs:{graph_id}"):
        yield "is watched or not: its record and its watchers disagree"
    if not has_work and "mute" not in graph:
        yield from _check_members(view, graph_id, raw)


def _check_members(view: View, graph_id: str, raw: dict[str, Record]) -> Iterator[str]:
    packed = view.value(f"ge:{graph_id}") or {}
    edges = {key.decode(): msgspec.msgpack.decode(value) for key, value in packed.items()}
    outs: dict[str, list[str]] = defaultdict(list)
    for member, fields in raw.items():
        key = member[len(graph_id) + 1 :]
        ins = edges.get("<" + key, [])
        if int(fields.get("ins", 0)) != len(ins) // 3:
            yield f"member {key} says ins {fields.get('ins')!r}, it has {len(ins) // 3}"
        if "told" in fields:
            yield f"member {key} is still being told"
        states = []
        for source, on, _ in zip(ins[::3], ins[1::3], ins[2::3], strict=True):
            outs[source] += (key, on)
            states.append((on, raw[f"{graph_id}~{source}"]["state"]))
        if fields["state"] in _UNDECIDED:
            yield from (f"member {key} {problem}" for problem in _check_counts(fields, states))
    listed = {k[1:]: v for k, v in edges.items() if k.startswith(">")}
    for source in listed.keys() | outs.keys():
        pairs = [listed.get(source, []), outs.get(source, [])]
        first, second = (sorted(zip(p[::2], p[1::2], strict=True)) for p in pairs)
        if first != second:
            yield f"member {source} has the out-edges {first}, should have {second}"


def _check_counts(fields: Record, ins: list[tuple[str, bytes]]) -> Iterator[str]:
    """Check what a member that waits has counted."""
    ended = [_meets(on, state) for on, state in ins if state in _TERMINAL]
    met, unmet = sum(ended), len(ended) - sum(ended)
    counts = int(fields.get("met", 0)), int(fields.get("unmet", 0))
    if counts != (met, unmet):
        yield f"counts {counts}, should be {(met, unmet)}"
    # One that has no upstreams waits only until its graph starts it.
    need = int(fields.get("need", 0))
    if need and (met >= need or unmet > len(ins) - need):
        yield "is decided and waits"


def _meets(on: str, state: bytes) -> bool:
    if on == "s":
        return state == b"completed"
    return on == "a" or state in _BAD

"""A layered drawing of a directed graph: where to put boxes, and how arrows run between them.

Arrows that lead back are turned around first. A box is in the layer after the last of those that
lead to it. Arrows that pass layers get a bend in each. Then sweeps put every box near its
neighbours, which keeps crossings few, and a regression finds positions without overlaps. The same
graph always gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

GAP_X, GAP_Y = 36.0, 64.0
_SWEEPS = 6
#: Arrows of larger drawings have no bends; nobody can follow them anyway.
_MOST_BENDS = 20_000

Size = tuple[float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Where the boxes are, by their middles, and the points of each arrow."""

    spots: Mapping[str, Point]
    layers: Mapping[str, int]
    arrows: Mapping[tuple[str, str], tuple[Point, ...]]
    #: Arrows that lead to a box before theirs.
    back: frozenset[tuple[str, str]]
    width: float
    height: float


def draw(sizes: Mapping[str, Size], arrows: Iterable[tuple[str, str]]) -> Drawing:
    """Draw boxes of these sizes; arrows between the same two boxes are one."""
    pairs = list(dict.fromkeys((a, b) for a, b in arrows if a != b))
    back = _back(sizes, pairs)
    forward = list(dict.fromkeys((b, a) if (a, b) in back else (a, b) for a, b in pairs))
    layers = _layers(sizes, forward)
    chains = _chains(forward, layers)
    rows = _rows(sizes, layers, chains)
    links = [pair for chain in chains.values() for pair in pairwise(chain)]
    _sweep(rows, links)
    widths = {key: width for key, (width, _) in sizes.items()}
    xs = _positions(rows, links, widths)
    ys = _heights(rows, sizes)
    spots = {key: (xs[key], ys[layers[key]]) for key in sizes}
    level = {key: ys[n] for n, row in enumerate(rows) for key in row}
    lines = {}
    for a, b in pairs:
        chain = chains[(b, a) if (a, b) in back else (a, b)]
        points = tuple((xs[key], level[key]) for key in chain)
        lines[a, b] = points[::-1] if (a, b) in back else points
    return Drawing(
        spots=spots,
        layers=layers,
        arrows=lines,
        back=frozenset(back),
        width=max((xs[k] + widths[k] / 2 for k in sizes), default=0.0) + GAP_X / 2,
        height=max((spots[k][1] + sizes[k][1] / 2 for k in sizes), default=0.0) + GAP_X / 2,
    )


def _back(keys: Iterable[str], pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the arrows that close a circle, found by a walk in depth."""
    after: dict[str, list[str]] = {}
    for a, b in pairs:
        after.setdefault(a, []).append(b)
    done: set[str] = set()
    on_way: set[str] = set()
    back: set[tuple[str, str]] = set()
    for root in keys:
        if root in done:
            continue
        stack = [(root, iter(after.get(root, ())))]
        on_way.add(root)
        while stack:
            key, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                stack.pop()
                on_way.discard(key)
                done.add(key)
            elif following in on_way:
                back.add((key, following))
            elif following not in done:
                on_way.add(following)
                stack.append((following, iter(after.get(following, ()))))
    return back


def _layers(keys: Iterable[str], pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the length of the longest path to each box."""
    layers = dict.fromkeys(keys, 0)
    left = dict.fromkeys(layers, 0)
    after: dict[str, list[str]] = {}
    for a, b in pairs:
        after.setdefault(a, []).append(b)
        left[b] += 1
    ready = [key for key, count in left.items() if count == 0]
    for key in ready:
        for following in after.get(key, ()):
            layers[following] = max(layers[following], layers[key] + 1)
            left[following] -= 1
            if left[following] == 0:
                ready.append(following)
    return layers


def _chains(
    pairs: Sequence[tuple[str, str]], layers: Mapping[str, int]
) -> dict[tuple[str, str], list[str]]:
    """Return each arrow as boxes and bends, one in each layer that it passes."""
    passed = sum(layers[b] - layers[a] - 1 for a, b in pairs)
    if passed > _MOST_BENDS:
        return {(a, b): [a, b] for a, b in pairs}
    return {
        (a, b): [a, *(f"{a}\0{b}\0{n}" for n in range(layers[a] + 1, layers[b])), b]
        for a, b in pairs
    }


def _rows(
    keys: Iterable[str], layers: Mapping[str, int], chains: Mapping[tuple[str, str], list[str]]
) -> list[list[str]]:
    rows: list[list[str]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for key in keys:
        rows[layers[key]].append(key)
    for chain in chains.values():
        for n, bend in enumerate(chain[1:-1], start=layers[chain[0]] + 1):
            rows[n].append(bend)
    return rows


def _neighbours(
    links: Iterable[tuple[str, str]],
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for a, b in links:
        above.setdefault(b, []).append(a)
        below.setdefault(a, []).append(b)
    return above, below


def _sweep(rows: list[list[str]], links: Sequence[tuple[str, str]]) -> None:
    """Order each row by where its neighbours are, downwards and upwards in turn."""
    above, below = _neighbours(links)
    places = {key: float(n) for row in rows for n, key in enumerate(row)}
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            means = {}
            for key in row:
                near = neighbours.get(key)
                means[key] = sum(places[n] for n in near) / len(near) if near else places[key]
            row.sort(key=means.__getitem__)
            for n, key in enumerate(row):
                places[key] = float(n)


def _positions(
    rows: Sequence[list[str]], links: Sequence[tuple[str, str]], widths: Mapping[str, float]
) -> dict[str, float]:
    """Return the middles of boxes and bends: near their neighbours, without overlaps."""
    above, below = _neighbours(links)
    xs: dict[str, float] = {}
    for row in rows:
        at = 0.0
        for key in row:
            half = widths.get(key, 0.0) / 2
            xs[key] = at + half
            at += 2 * half + GAP_X
    for sweep in range(_SWEEPS):
        neighbours = below if sweep % 2 else above
        for row in reversed(rows) if sweep % 2 else rows:
            wishes = []
            for key in row:
                near = neighbours.get(key)
                wishes.append(sum(xs[n] for n in near) / len(near) if near else xs[key])
            xs.update(zip(row, _apart(row, wishes, widths), strict=True))
    least = min((x - widths.get(key, 0.0) / 2 for key, x in xs.items()), default=0.0)
    return {key: x - least + GAP_X / 2 for key, x in xs.items()}


def _apart(row: Sequence[str], wishes: Sequence[float], widths: Mapping[str, float]) -> list[float]:
    """Return positions as near to the wishes as the order and the widths allow.

    Without the room that boxes take, this is a regression to a rising sequence, which pools
    neighbours that are in each other's way.
    """
    offsets, at, last = [], 0.0, 0.0
    for n, key in enumerate(row):
        half = widths.get(key, 0.0) / 2
        at += last + half + GAP_X if n else 0.0
        offsets.append(at)
        last = half
    pools: list[tuple[float, int]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        mean, count = wish - offset, 1
        while pools and pools[-1][0] > mean:
            other, size = pools.pop()
            mean = (mean * count + other * size) / (count + size)
            count += size
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _heights(rows: Sequence[list[str]], sizes: Mapping[str, Size]) -> list[float]:
    """Return the middle of each layer."""
    middles, at = [], GAP_X / 2
    for row in rows:
        height = max((sizes[key][1] for key in row if key in sizes), default=0.0)
        middles.append(at + height / 2)
        at += height + GAP_Y
    return middles

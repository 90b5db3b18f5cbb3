"""Layered drawings: nothing overlaps, arrows go forward, the same graph gives the same drawing."""

from __future__ import annotations

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.operate.layered import Drawing, draw

SIZE = (160.0, 44.0)
KEYS = st.integers(0, 14).map(lambda n: f"n{n}")
GRAPHS = st.lists(st.tuples(KEYS, KEYS), max_size=40)


def drawn(arrows: list[tuple[str, str]]) -> Drawing:
    """Draw the boxes that the arrows name."""
    keys = sorted({key for pair in arrows for key in pair})
    return draw(dict.fromkeys(keys, SIZE), arrows)


@given(arrows=GRAPHS)
@settings(deadline=None)
def test_boxes_do_not_overlap_and_arrows_lead_down(arrows: list[tuple[str, str]]) -> None:
    """All but those that are marked as leading back; all is inside the drawing."""
    found = drawn(arrows)
    spots = list(found.spots.values())
    for n, (x, y) in enumerate(spots):
        assert SIZE[0] / 2 <= x <= found.width - SIZE[0] / 2
        assert SIZE[1] / 2 <= y <= found.height - SIZE[1] / 2
        for other_x, other_y in spots[:n]:
            assert abs(x - other_x) >= SIZE[0] or abs(y - other_y) >= SIZE[1]
    for source, target in arrows:
        if source == target:
            continue
        points = found.arrows[source, target]
        assert (points[0], points[-1]) == (found.spots[source], found.spots[target])
        is_down = found.layers[source] < found.layers[target]
        assert is_down != ((source, target) in found.back)
    assert drawn(arrows) == found


def test_a_thousand_nodes_are_drawn_quickly() -> None:
    """A graph of 30 layers with 1,450 edges; the limit leaves room for a busy machine."""
    chance = random.Random(7)
    rows = [[f"{layer}.{n}" for n in range(33)] for layer in range(31)]
    arrows = [
        (chance.choice(rows[layer - 1]), key)
        for layer, row in enumerate(rows)
        if layer
        for key in row
    ]
    arrows += [
        (chance.choice(rows[n]), chance.choice(rows[n + 3])) for n in range(28) for _ in range(16)
    ]
    started = time.perf_counter()
    found = draw({key: SIZE for row in rows for key in row}, arrows)
    assert time.perf_counter() - started < 2
    assert len(found.spots) == 1_023


def test_an_empty_graph_is_an_empty_drawing() -> None:
    """Without boxes there is nothing to place."""
    assert draw({}, []).spots == {}

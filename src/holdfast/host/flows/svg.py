"""A flow as an SVG image, laid out as graphs are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from xml.sax.saxutils import escape

from holdfast.host.flows.model import END, Flow
from holdfast.host.flows.picture import Arrow, Box, Picture, picture, short
from holdfast.operate import layout

_CHAR, _LINE, _PAD, _GAP_X, _GAP_Y = 7, 16, 12, 36, 64
#: Arrows of larger pictures are straight: readers cannot follow them anyway.
_MOST_BENDS = 2_000
_FILLS = {"waits": "#fff3c4", "reaches": "#cfe3fb", "says": "#d3f2d3", "steers": "#ececec"}
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.id{font-weight:bold}"
    ".label{font-size:10px;fill:#555;paint-order:stroke;stroke:#fff;stroke-width:3px}"
    "path{fill:none;stroke:#777}.back{stroke-dasharray:4 3}rect,circle{stroke:#777}"
)


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a box is: its middle, and how large it is."""

    x: float
    y: float
    width: float
    height: float


def as_svg(flow: Flow) -> str:
    """Return a flow as an SVG image."""
    shown = picture(flow)
    spots = _spots(shown)
    width = max(spot.x + spot.width / 2 for spot in spots.values()) + 2 * _GAP_X
    height = max(spot.y + spot.height / 2 for spot in spots.values()) + _PAD
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}">'
        ),
        f"<title>{escape(flow.title or flow.id)}</title>",
        f"<style>{_STYLE}</style>",
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" style="fill:#777"/>'
            "</marker></defs>"
        ),
        f'<rect width="{width:.0f}" height="{height:.0f}" style="fill:#fff;stroke:none"/>',
    ]
    lines += [_arrow(arrow, spots, width, n) for n, arrow in enumerate(shown.arrows)]
    lines += [_drawn(box, spots[box.id], flow) for box in shown.boxes]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _spots(shown: Picture) -> dict[str, _Spot]:
    """Return where boxes are, and the bends of arrows that pass other boxes."""
    sources: dict[str, list[str]] = {box.id: [] for box in shown.boxes}
    for arrow in shown.arrows:
        if not arrow.is_back:
            sources[arrow.target].append(arrow.source)
    places = layout.arrange(_with_bends(sources))
    widths = {
        box.id: max(len(box.id) + 10, len(box.words)) * _CHAR + 2 * _PAD for box in shown.boxes
    }
    rows: dict[int, list[str]] = {}
    for key in sorted(places, key=places.__getitem__):
        rows.setdefault(places[key][0], []).append(key)
    spans = {
        layer: sum(widths.get(key, 0) for key in row) + _GAP_X * (len(row) - 1)
        for layer, row in rows.items()
    }
    widest = max(spans.values())
    height = 2 * _LINE + _PAD
    found: dict[str, _Spot] = {}
    for layer, row in rows.items():
        x = _PAD + (widest - spans[layer]) / 2
        y = _PAD + height / 2 + layer * (height + _GAP_Y)
        for key in row:
            width = widths.get(key, 0)
            found[key] = _Spot(x + width / 2, y, width, height)
            x += width + _GAP_X
    return found


def _bends(source: str, target: str, count: int) -> Iterator[str]:
    """Yield the names of the bends of an arrow. No node has such a name."""
    return (f"{source} {target} {number}" for number in range(count))


def _with_bends(sources: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the boxes with a bend in every layer that an arrow passes."""
    layers = {key: layer for key, (layer, _) in layout.arrange(sources).items()}
    passed = sum(layers[key] - layers[one] - 1 for key in sources for one in sources[key])
    if passed > _MOST_BENDS:
        return {key: list(before) for key, before in sources.items()}
    found: dict[str, list[str]] = {}
    for key, before in sources.items():
        ends = []
        for source in before:
            last = source
            for bend in _bends(source, key, layers[key] - layers[source] - 1):
                found[bend] = [last]
                last = bend
            ends.append(last)
        found[key] = ends
    return found


def _drawn(box: Box, spot: _Spot, flow: Flow) -> str:
    if box.id == END:
        return (
            f'<circle cx="{spot.x:.0f}" cy="{spot.y:.0f}" r="{_LINE}" style="fill:#fff"/>'
            f'<text x="{spot.x:.0f}" y="{spot.y + 4:.0f}" text-anchor="middle">{END}</text>'
        )
    kind = flow.nodes[box.id].kind.value
    return (
        f'<g><rect x="{spot.x - spot.width / 2:.0f}" y="{spot.y - spot.height / 2:.0f}" rx="6" '
        f'width="{spot.width:.0f}" height="{spot.height:.0f}" style="fill:{_FILLS[box.look]}"/>'
        f'<text x="{spot.x:.0f}" y="{spot.y - 4:.0f}" text-anchor="middle">'
        f'<tspan class="id">{escape(box.id)}</tspan> {kind}</text>'
        f'<text x="{spot.x:.0f}" y="{spot.y + _LINE - 2:.0f}" text-anchor="middle">'
        f"{escape(box.words)}</text></g>"
    )


def _arrow(arrow: Arrow, spots: Mapping[str, _Spot], width: float, number: int) -> str:
    one, other = spots[arrow.source], spots[arrow.target]
    if arrow.is_back:
        # Around the right side, so that it crosses no box of its own column.
        side = width - _GAP_X / 2
        x1, x2 = one.x + one.width / 2, other.x + other.width / 2
        path = f"M{x1:.0f},{one.y:.0f} C{side:.0f},{one.y:.0f} {side:.0f},{other.y:.0f} "
        path += f"{x2:.0f},{other.y:.0f}"
        x, y = x1 + 2 * _GAP_X, one.y - 4
    else:
        bends = takewhile(spots.__contains__, _bends(arrow.source, arrow.target, len(spots)))
        passed = [one, *(spots[bend] for bend in bends), other]
        path = "".join(_curve(*pair, is_first=n == 0) for n, pair in enumerate(pairwise(passed)))
        second = passed[1]
        # Labels of arrows from the same box are at different heights.
        x = (one.x + 2 * second.x) / 3
        y = one.y + one.height / 2 + _GAP_Y * (0.4 + 0.15 * (number % 3))
    kind = ' class="back"' if arrow.is_back else ""
    label = (
        f'<text class="label" x="{x:.0f}" y="{y:.0f}" text-anchor="middle">'
        f"<title>{escape(arrow.label)}</title>{escape(short(arrow.label))}</text>"
        if arrow.label
        else ""
    )
    return f'<path{kind} d="{path}" marker-end="url(#tip)"/>{label}'


def _curve(one: _Spot, other: _Spot, *, is_first: bool) -> str:
    """Return a part of a path, from below a box or through a bend to above the next."""
    y1, y2 = one.y + one.height / 2, other.y - other.height / 2
    if other.width:
        y2 -= 1
    middle = (y1 + y2) / 2
    start = f"M{one.x:.0f},{y1:.0f}" if is_first else f" L{one.x:.0f},{y1:.0f}"
    return f"{start} C{one.x:.0f},{middle:.0f} {other.x:.0f},{middle:.0f} {other.x:.0f},{y2:.0f}"

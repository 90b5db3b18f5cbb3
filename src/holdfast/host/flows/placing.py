"""Where to draw the nodes of a flow, for consoles."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.host.flows.model import END, Flow
from holdfast.host.flows.picture import Arrow, Box, Picture, picture
from holdfast.operate import layered
from holdfast.operate.layered import Drawing, Size

_CHAR, _PAD, _HEIGHT = 7, 12, 44
_ROUND: Size = (32, 32)


@dataclass(frozen=True, slots=True)
class PlacedFlow:
    """A flow, what its picture shows, and where."""

    flow: Flow
    picture: Picture
    sizes: dict[str, Size]
    drawing: Drawing

    def kind(self, box: Box) -> str:
        """Return the kind of the node that a box shows; `end` is the end of the flow."""
        return END if box.id == END else self.flow.nodes[box.id].kind.value

    def points(self, arrow: Arrow) -> tuple[layered.Point, ...]:
        """Return the points of an arrow, from the middle of a box to that of another."""
        return self.drawing.arrows.get((arrow.source, arrow.target), ())


def place(flow: Flow) -> PlacedFlow:
    """Place the nodes of a flow."""
    shown = picture(flow)
    sizes = {box.id: _size(box) for box in shown.boxes}
    pairs = [(arrow.source, arrow.target) for arrow in shown.arrows]
    return PlacedFlow(flow, shown, sizes, layered.draw(sizes, pairs))


def _size(box: Box) -> Size:
    if box.id == END:
        return _ROUND
    return max(len(box.id) + 10, len(box.words)) * _CHAR + 2 * _PAD, _HEIGHT

"""Drawings of flows as replies show them."""

from __future__ import annotations

from msgspec import field

from holdfast.host.flows.placing import PlacedFlow
from holdfast.server.views.fields import View

Points = list[tuple[float, float]]


class SizeView(View):
    """How large a drawing is."""

    w: float
    h: float


class FlowNodeView(View):
    """A node of a flow, and where to draw it."""

    key: str
    #: As the flow says; `end` is the end of the flow.
    kind: str
    #: What it does, in a few words.
    label: str
    #: waits, reaches, says, steers or end.
    look: str
    layer: int
    #: Its middle.
    x: float
    y: float
    w: float
    h: float


class FlowEdgeView(View):
    """A way from a node to another."""

    source: str = field(name="from")
    target: str = field(name="to")
    label: str
    #: It leads back, to a node that comes before.
    back: bool
    #: From the middle of a node to that of another.
    points: Points


class FlowLayoutView(View):
    """Where to draw the nodes of a flow."""

    flow: str
    title: str
    #: The node at which it starts.
    start: str
    nodes: list[FlowNodeView]
    edges: list[FlowEdgeView]
    size: SizeView

    @classmethod
    def of(cls, placed: PlacedFlow) -> FlowLayoutView:
        """Show a flow."""
        drawing = placed.drawing
        nodes = []
        for box in placed.picture.boxes:
            (x, y), (w, h) = drawing.spots[box.id], placed.sizes[box.id]
            layer, kind = drawing.layers[box.id], placed.kind(box)
            nodes.append(
                FlowNodeView(
                    key=box.id,
                    kind=kind,
                    label=box.words,
                    look=box.look,
                    layer=layer,
                    x=round(x, 1),
                    y=round(y, 1),
                    w=w,
                    h=h,
                )
            )
        edges = [
            FlowEdgeView(
                source=arrow.source,
                target=arrow.target,
                label=arrow.label,
                back=arrow.is_back,
                points=rounded(placed.points(arrow)),
            )
            for arrow in placed.picture.arrows
        ]
        flow = placed.flow
        return cls(
            flow=flow.id,
            title=flow.title or flow.id,
            start=flow.start,
            nodes=nodes,
            edges=edges,
            size=size_of(drawing.width, drawing.height),
        )


def size_of(width: float, height: float) -> SizeView:
    """Show the size of a drawing."""
    return SizeView(w=round(width, 1), h=round(height, 1))


def rounded(points: tuple[tuple[float, float], ...]) -> Points:
    """Show the points of an arrow."""
    return [(round(x, 1), round(y, 1)) for x, y in points]

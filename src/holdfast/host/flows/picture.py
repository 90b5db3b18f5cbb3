"""Pictures of a flow: what they show, and a Mermaid flowchart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.host.flows.graph import Edge, edges
from holdfast.host.flows.model import (
    END,
    WAITING,
    Approval,
    Ask,
    Call,
    Emit,
    End,
    Flow,
    FlowNode,
    Goto,
    Http,
    Llm,
    NodeKind,
    Provider,
    SubFlow,
)
from holdfast.host.flows.templates import Text

_WORDS = 34
_REACHING = frozenset({NodeKind.CALL, NodeKind.LLM, NodeKind.HTTP, NodeKind.PROVIDER})


@dataclass(frozen=True, slots=True)
class Box:
    """A node in a picture."""

    id: str
    #: What it does, in a few words.
    words: str
    look: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """A way from a node to another."""

    source: str
    target: str
    label: str
    #: It leads back, to a node that comes before.
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """What a picture of a flow shows; each box comes after those that lead to it."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture(flow: Flow) -> Picture:
    """Return what a picture of a flow shows, from its start on."""
    following = {
        node.id: [(to, label) for to, label in _ways(node) if to == END or to in flow.nodes]
        for node in flow.nodes.values()
    }
    order, back = _order(
        flow.start, {key: [to for to, _ in ways] for key, ways in following.items()}
    )
    boxes = [_box(flow.nodes[key]) if key != END else Box(END, "", END) for key in order]
    arrows = [
        Arrow(key, to, label, (key, to) in back)
        for key in order
        for to, label in following.get(key, ())
    ]
    return Picture(tuple(boxes), tuple(dict.fromkeys(arrows)))


def _ways(node: FlowNode) -> list[tuple[str, str]]:
    """Return where a node leads, and what is written beside the arrow."""
    found = [
        (edge.to.name, edge.why if edge.why != "out" else _condition(node, edge))
        for edge in edges(node)
    ]
    if isinstance(node.action, End) or (not node.out and not isinstance(node.action, Goto)):
        found.append((END, ""))
    return found


def _condition(node: FlowNode, edge: Edge) -> str:
    if edge.when is not None:
        return edge.when.expression.text
    return "otherwise" if len(node.out) > 1 else ""


def _order(start: str, following: dict[str, list[str]]) -> tuple[list[str], set[tuple[str, str]]]:
    """Return nodes so that each follows those that lead to it, and the arrows that lead back."""
    left: list[str] = []
    back: set[tuple[str, str]] = set()
    on_path: set[str] = set()
    seen: set[str] = set()
    # Without recursion: flows come from strangers.
    for root in (start, *following):
        work = [(root, False)]
        while work:
            key, is_left = work.pop()
            if is_left:
                on_path.discard(key)
                left.append(key)
                continue
            if key in seen:
                continue
            seen.add(key)
            on_path.add(key)
            work.append((key, True))
            for to in reversed(following.get(key, [])):
                if to in on_path:
                    back.add((key, to))
                elif to not in seen:
                    work.append((to, False))
    order = left[::-1]
    place = {key: number for number, key in enumerate(order)}
    back |= {(key, to) for key in order for to in following.get(key, ()) if place[to] <= place[key]}
    return order, back


def _box(node: FlowNode) -> Box:
    return Box(node.id, short(_words(node)), _look(node.kind))


def _words(node: FlowNode) -> str:  # noqa: PLR0911 - one for each kind
    action = node.action
    if isinstance(action, Emit):
        text = action.activities[0].node.get("text") if action.activities else None
        return str(text.value) if text is not None else ""
    if isinstance(action, Ask):
        return _source(action.text)
    if isinstance(action, Call):
        return f"{action.component.name}.{action.operation.name}"
    if isinstance(action, Provider):
        return f"{action.type.name}.{action.operation.name}"
    if isinstance(action, Goto):
        return f"{action.flow.name}.{action.node.name}" if action.node else action.flow.name
    if isinstance(action, SubFlow):
        return action.flow.name
    if isinstance(action, Llm):
        return action.model.name
    if isinstance(action, Http):
        return f"{action.method} {_source(action.url)}"
    if isinstance(action, Approval):
        return _source(action.title)
    return ""


def _source(text: Text) -> str:
    return "" if text.node is None else str(text.node.value)


def _look(kind: NodeKind) -> str:
    if kind in WAITING:
        return "waits"
    if kind in _REACHING:
        return "reaches"
    return "says" if kind is NodeKind.EMIT else "steers"


def short(text: str) -> str:
    """Return a text that fits into a picture."""
    line = " ".join(text.split())
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}…"


# Mermaid

_SHAPES = {
    "waits": ("([", "])"),
    "reaches": ("[[", "]]"),
    "says": ("[", "]"),
    "steers": ("{{", "}}"),
    END: ("((", "))"),
}


def as_mermaid(flow: Flow) -> str:
    """Return a flow as a Mermaid flowchart."""
    return "\n".join(_mermaid(flow)) + "\n"


def _mermaid(flow: Flow) -> Iterator[str]:
    shown = picture(flow)
    names = {box.id: f"n{number}" for number, box in enumerate(shown.boxes)}
    yield "flowchart TD"
    for box in shown.boxes:
        left, right = _SHAPES[box.look]
        kind = "" if box.id == END else f"<br/>{flow.nodes[box.id].kind.value}"
        words = f": {_mermaid_text(box.words)}" if box.words else ""
        yield f'    {names[box.id]}{left}"{_mermaid_text(box.id)}{kind}{words}"{right}'
    for arrow in shown.arrows:
        label = f'|"{_mermaid_text(short(arrow.label))}"|' if arrow.label else ""
        yield f"    {names[arrow.source]} -->{label} {names[arrow.target]}"


def _mermaid_text(text: str) -> str:
    """Return a text in which nothing has a meaning for Mermaid or HTML."""
    plain = " .,:_-…?!"
    return "".join(char if char.isalnum() or char in plain else f"#{ord(char)};" for char in text)

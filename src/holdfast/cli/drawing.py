"""Draw graphs as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.model.graphs import GraphView, Member, On
from holdfast.model.states import State
from holdfast.operate import layout
from holdfast.operate.layout import Layout

#: Larger graphs are summarized by layer.
MOST_DRAWN = 60

_DOTS = {
    State.COMPLETED: "●",
    State.FAILED: "✗",
    State.EXPIRED: "✗",
    State.CANCELLED: "⊘",
    State.SKIPPED: "○",
    State.ACTIVE: "▶",
}
_WAITING_DOT = "◌"


def lines(view: GraphView) -> Iterable[str]:
    """Draw a graph: one line per member, with tracks for the edges between them."""
    members = layout.in_order(view)
    if len(members) > MOST_DRAWN:
        yield from _summary(layout.of(view))
        return
    after = layout.edges_by_source(view)
    drawn: list[tuple[str, Member | None]] = []
    tracks: list[str | None] = []
    for member in members:
        column = _column_of(member.key, tracks)
        drawn.append((_row(tracks, column, _dot(member)), member))
        tracks[column] = None
        targets = [edge.target for edge in after.get(member.key, ())]
        link = _open_tracks(tracks, column, targets)
        if link:
            drawn.append((link.rstrip(), None))
    width = max(len(text) for text, _ in drawn)
    names = max(len(member.key) for member in members)
    for text, drawn_member in drawn:
        if drawn_member is None:
            yield text
        else:
            yield f"{text:<{width}} {drawn_member.key:<{names}}  {_note(drawn_member)}".rstrip()


def _dot(member: Member) -> str:
    return _DOTS.get(member.state, _WAITING_DOT)


def _note(member: Member) -> str:
    parts = [str(member.state)]
    if member.kind != member.key:
        parts.append(member.kind)
    if member.join.is_lax:
        need = f"{member.join.k} of {len(member.edges)}" if member.join.k else "any"
        parts.append(f"needs {need}")
    parts += [f"{edge.on} of {edge.source}" for edge in member.edges if edge.on != On.SUCCESS]
    return "  ".join(parts)


def _column_of(key: str, tracks: list[str | None]) -> int:
    """Return the track that leads to a member, or a free one."""
    if key in tracks:
        return tracks.index(key)
    if None in tracks:
        return tracks.index(None)
    tracks.append(None)
    return len(tracks) - 1


def _row(tracks: list[str | None], column: int, dot: str) -> str:
    cells = ["│" if track is not None else " " for track in tracks]
    cells[column] = dot
    return " ".join(cells)


def _open_tracks(tracks: list[str | None], column: int, targets: list[str]) -> str:
    """Open tracks from a member to its dependents; return the line that links them, if any."""
    before = list(tracks)
    ends: set[int] = set()
    for target in targets:
        if target in tracks:
            ends.add(tracks.index(target))
        else:
            free = column if tracks[column] is None else _column_of(target, tracks)
            tracks[free] = target
            ends.add(free)
    before += [None] * (len(tracks) - len(before))
    if ends <= {column}:
        return ""
    first, last = min(*ends, column), max(*ends, column)
    cells = []
    for n in range(len(tracks)):
        crossing = before[n] is not None
        if n == column:
            cells.append(_corner(n, first, last, down=n in ends, up=True))
        elif n in ends:
            cells.append(_corner(n, first, last, down=True, up=crossing))
        elif first < n < last:
            # A track that the link only crosses shows no joint.
            cells.append("│" if crossing else "─")
        else:
            cells.append("│" if crossing else " ")
        cells.append("─" if first <= n < last else " ")
    return "".join(cells)


def _corner(n: int, first: int, last: int, *, down: bool, up: bool) -> str:
    """Return the box-drawing character for lines to some of the four sides."""
    return {
        (True, True, False, True): "├",
        (True, True, True, False): "┤",
        (True, True, True, True): "┼",
        (True, False, False, True): "╰",
        (True, False, True, False): "╯",
        (True, False, True, True): "┴",
        (False, True, False, True): "╭",
        (False, True, True, False): "╮",
        (False, True, True, True): "┬",
    }[up, down, n > first, n < last]


def _summary(layout: Layout) -> Iterable[str]:
    """Summarize a large graph: the number of members by layer, kind and state."""
    for row in layout.summary():
        states = ", ".join(f"{count:,} {state}" for state, count in row.states.items())
        yield f"{row.layer:>3}  {row.size:>6,} x {row.kind}: {states}"

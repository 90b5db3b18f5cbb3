"""Tables that fit a terminal without truncating any cell.

If the columns do not fit, cells wrap between words; if that is not enough, the last columns move
to a line of their own under each row. Words such as ids are never broken.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from holdfast.cli.terminal.failures import one_line

_GAP = "  "
_INDENT = "    "
#: Shorter cells are not wrapped.
_SHORT = 20
#: Longer words are broken if a line cannot hold them: payloads, not ids.
_LONGEST_WORD = 48


def lines(
    columns: Sequence[str], rows: Sequence[Sequence[object]], width: int | None
) -> Iterator[str]:
    """Return the lines of a table. Without a width each row is one line. None is an empty cell."""
    cells = [["" if cell is None else one_line(str(cell)) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(columns, *cells, strict=True)]
    kept = _fit(columns, cells, widths, width)
    right = [
        bool(rows) and all(isinstance(row[number], int | float) for row in rows)
        for number in range(kept)
    ]
    yield _line(columns[:kept], widths, right)
    yield "─" * (sum(widths[:kept]) + len(_GAP) * (kept - 1))
    for row in cells:
        yield from _row(row[:kept], widths, right)
        hidden = zip(columns[kept:], row[kept:], strict=True)
        extra = ", ".join(f"{column} {cell}" for column, cell in hidden if cell)
        if width is not None and extra:
            yield from textwrap.wrap(
                extra,
                width,
                initial_indent=_INDENT,
                subsequent_indent=_INDENT,
                break_on_hyphens=False,
            )


def _fit(
    columns: Sequence[str], cells: Sequence[Sequence[str]], widths: list[int], width: int | None
) -> int:
    """Narrow columns that can wrap until the row fits; return how many columns fit."""
    if width is None:
        return len(columns)
    least = [
        max(map(_narrowest, column)) if number else widths[0]
        for number, column in enumerate(zip(columns, *cells, strict=True))
    ]
    kept = len(columns)
    while kept > 1 and sum(least[:kept]) + len(_GAP) * (kept - 1) > width:
        kept -= 1
    room = width - len(_GAP) * (kept - 1)
    while sum(widths[:kept]) > room:
        slack = [widths[number] - least[number] for number in range(kept)]
        if not any(slack):
            break
        widths[slack.index(max(slack))] -= 1
    return kept


def _narrowest(cell: str) -> int:
    """Return the minimum width of a cell: that of its longest word, up to `_LONGEST_WORD`."""
    if _width(cell) <= _SHORT:
        return _width(cell)
    return max(_SHORT, min(max(map(_width, cell.split())), _LONGEST_WORD))


def _row(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    """Return the lines of a row; it has several if a cell wraps."""
    folded = [
        textwrap.wrap(cell, size, break_on_hyphens=False) if _width(cell) > size else [cell]
        for cell, size in zip(row, widths, strict=False)
    ]
    for number in range(max(map(len, folded))):
        parts = [part[number] if number < len(part) else "" for part in folded]
        yield _line(parts, widths, right)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, size, is_right in zip(cells, widths, right, strict=False):
        space = " " * (size - _width(cell))
        padded.append(space + cell if is_right else cell + space)
    return _GAP.join(padded).rstrip()


def _width(text: str) -> int:
    """Return how many terminal columns a text occupies."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)

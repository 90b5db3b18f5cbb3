"""Long texts in parts: cut between paragraphs, else lines, sentences, words, and characters.

A fenced block of code is kept whole. One that is too long is cut between its lines, and each part
is fenced again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from holdfast.channels.graphemes import clusters

#: How a provider counts; the size of two texts is the sum of their sizes.
Size = Callable[[str], int]

_FENCE = re.compile(r"^(```+|~~~+)[^\n]*$")
#: From coarse to fine: each pattern matches where a text may be cut.
_CUTS = (
    re.compile(r"(?<=\n\n)(?!\n)"),
    re.compile(r"(?<=\n)"),
    re.compile(r"(?<=[.!?\u2026\u3002]\s)"),
    re.compile(r"(?<=\s)(?=\S)"),
)


def utf16(text: str) -> int:
    """Return the size of a text in code units of UTF-16."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split(text: str, most: int, size: Size = len) -> list[str]:
    """Return a text in parts of at most this size; none if it is blank."""
    parts: list[str] = []
    part, used = "", 0
    for piece in _pieces(text, most, size):
        needed = size(piece.rstrip())
        if part and used + needed > most:
            parts.append(part)
            part, used = "", 0
        # A part does not begin with the blank lines that separated it.
        part += piece if part else piece.lstrip("\n")
        used = size(part)
    parts.append(part)
    return [part.strip("\n").rstrip() for part in parts if part.strip()]


def _pieces(text: str, most: int, size: Size) -> Iterator[str]:
    """Yield pieces that fit, as large as possible."""
    for block, fence in _blocks(text):
        if size(block.rstrip()) <= most:
            yield block
        elif fence:
            yield from _fenced(block, fence, most, size)
        else:
            yield from _cut(block, most, size, 0)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text in order: blocks of code, each with its first line, and what is between."""
    block: list[str] = []
    opening = ""
    for line in text.splitlines(keepends=True) if "\r" not in text else _lines(text):
        is_fence = _FENCE.match(line.rstrip("\n"))
        if opening:
            block.append(line)
            if line.strip() == _mark(opening):
                yield "".join(block), opening
                block, opening = [], ""
        elif is_fence:
            if block:
                yield "".join(block), ""
            block, opening = [line], line.rstrip("\n")
        else:
            block.append(line)
    if block:
        yield "".join(block), opening


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)


def _mark(opening: str) -> str:
    """Return the line that closes a block of code."""
    match = _FENCE.match(opening)
    return match[1] if match else opening


def _fenced(block: str, opening: str, most: int, size: Size) -> Iterator[str]:
    """Yield a block of code in several, each with its fences."""
    mark = _mark(opening)
    inner = block.split("\n", 1)[1] if "\n" in block else ""
    inner = inner.rstrip().removesuffix(mark) if inner.rstrip().endswith(mark) else inner
    room = most - size(f"{opening}\n\n{mark}")
    if room < 1:
        yield from _cut(block, most, size, 1)
        return
    lines, used = "", 0
    for line in _cut(inner.rstrip("\n") + "\n", room, size, 1):
        if lines and used + size(line.rstrip("\n")) > room:
            yield f"{opening}\n{_ended(lines)}{mark}\n"
            lines = ""
        lines += line
        used = size(lines)
    if lines.strip():
        yield f"{opening}\n{_ended(lines)}{mark}\n"


def _ended(lines: str) -> str:
    return lines.rstrip() + "\n"


def _cut(text: str, most: int, size: Size, level: int) -> Iterator[str]:
    if size(text.rstrip()) <= most:
        yield text
    elif level == len(_CUTS):
        yield from _runs(text, most, size)
    else:
        for piece in _CUTS[level].split(text):
            yield from _cut(piece, most, size, level + 1)


def _runs(text: str, most: int, size: Size) -> Iterator[str]:
    """Yield characters together up to the limit; one that is larger than that is cut."""
    run, used = "", 0
    for cluster in clusters(text):
        needed = size(cluster)
        if run and used + needed > most:
            yield run
            run, used = "", 0
        if needed > most:
            yield from cluster
            continue
        run, used = run + cluster, used + needed
    if run:
        yield run

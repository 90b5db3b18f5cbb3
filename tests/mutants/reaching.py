"""Which blocks of Lua a test runs: the library marks each block that it enters.

A block is what stands between `function`, `then`, `else`, `do` or `repeat` and its end. The marks
lie in a table of the library, which lives between calls, and a function that is added reads them.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, replace

from holdfast.store.valkey.library import Header, Source

#: The function that returns the marks, and forgets them.
FUNCTION = "hf_mutants_marks"
_LIB = "lib/mutants/marks"

_WORDS = re.compile(
    r"(?P<skip>--[^\n]*|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<function>\bfunction\b[^(]*\([^)]*\))"
    r"|\b(?P<word>then|do|repeat|else|elseif|end|until)\b"
)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a file."""

    source: str
    #: Where blocks begin, in order.
    starts: tuple[int, ...]
    #: From which place on which block is the innermost; -1 outside of all.
    changes: tuple[tuple[int, int], ...]

    def at(self, place: int) -> str | None:
        """Return the mark of the block that holds a place; None outside of functions."""
        index = bisect.bisect_right(self.changes, place, key=lambda change: change[0])
        block = self.changes[index - 1][1] if index else -1
        return None if block < 0 else self.mark(block)

    def mark(self, block: int) -> str:
        """Return the mark that a block leaves."""
        return f"{self.source}#{block}"


def blocks_of(source: str, text: str) -> Blocks:
    """Find the blocks of a file."""
    starts: list[int] = []
    open_blocks: list[int] = []
    changes: list[tuple[int, int]] = []
    for match in _WORDS.finditer(text):
        if match["skip"]:
            continue
        word = match["word"]
        if word in {"end", "until", "else", "elseif"}:
            open_blocks.pop()
        if match["function"] or word in {"then", "do", "repeat", "else"}:
            open_blocks.append(len(starts))
            starts.append(match.end())
        changes.append((match.end(), open_blocks[-1] if open_blocks else -1))
    return Blocks(source, tuple(starts), tuple(changes))


def marked(sources: dict[str, Source]) -> dict[str, Source]:
    """Return the files with a mark at the beginning of each block."""
    found = {source.name: _marked(source) for source in sources.values()}
    found[_LIB] = Source(name=_LIB, text="local marks = {}\n", header=Header(purpose="Marks."))
    name = FUNCTION.removeprefix("hf_").replace("_", "/")
    header = Header(purpose="Returns the marks.", requires=(_LIB,), flags="no-writes")
    text = (
        "local function run()\n"
        "  local names = {}\n"
        "  for name in pairs(marks) do names[#names + 1] = name marks[name] = nil end\n"
        "  return names\n"
        "end\n"
    )
    found[name] = Source(name=name, text=text, header=header)
    return found


def _marked(source: Source) -> Source:
    blocks = blocks_of(source.name, source.text)
    parts, end = [], 0
    for number, start in enumerate(blocks.starts):
        parts += [source.text[end:start], f" marks['{blocks.mark(number)}'] = true "]
        end = start
    header = replace(source.header, requires=(_LIB, *source.header.requires))
    return replace(source, text="".join([*parts, source.text[end:]]), header=header)

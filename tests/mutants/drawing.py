"""Mutants: one small change of one Lua file each, drawn from a seed."""

from __future__ import annotations

import difflib
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.store.valkey import library

_TOKENS = re.compile(
    r"(?P<skip>--[^\n]*|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<key>(?<!function )\bkeys\.\w+(?=\())"
    r"|(?P<word>\b(?:and|or|not|true|false)\b)"
    r"|(?P<number>(?<![\w.])\d+(?![\w.]))"
    r"|(?P<sign>==|~=|<=|>=|<|>|(?<=\s)[+-](?=\s))"
)
_SWAPS = {
    "==": "~=",
    "~=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "+": "-",
    "-": "+",
    "and": "or",
    "or": "and",
    "not": "",
    "true": "false",
    "false": "true",
}
_READS = "GET|EXISTS|CARD|LEN|RANGE|SCORE|RANK|COUNT|TYPE|TTL|SCAN|MEMBER|KEYS|VALS|TIME|STRLEN"
_WRITE = re.compile(
    rf"^(?P<write>[ \t]*server\.call\('(?!\w*(?:{_READS}))\w+'.*\))[ \t]*$", re.MULTILINE
)
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@|^\+\+\+ b/(\S+)\.lua$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    source: str
    kind: str
    #: Where the change begins, in characters of the file.
    at: int
    before: str = field(repr=False)
    after: str = field(repr=False)

    @property
    def line(self) -> int:
        """The line that changed, from 1."""
        return self.before.count("\n", 0, self.at) + 1

    @property
    def place(self) -> str:
        """The file and the line that changed."""
        return f"{self.source}:{self.line}"

    def difference(self) -> str:
        """Return the lines that changed."""
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), n=0, lineterm=""
        )
        return "\n".join(list(lines)[3:])


def mutants_of(source: str, text: str) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    start = _code_start(text)
    names = sorted(set(re.findall(r"\bkeys\.\w+(?=\()", text)))

    def made(kind: str, at: int, end: int, new: str) -> Mutant:
        return Mutant(source, kind, at, text, text[:at] + new + text[end:])

    for match in _WRITE.finditer(text, start):
        yield made("dropped write", match.start("write"), match.end("write"), "")
    for match in _TOKENS.finditer(text, start):
        at, end, token = match.start(), match.end(), match[0]
        if match["sign"] or match["word"]:
            yield made("operator", at, end, _SWAPS[token])
        elif match["number"]:
            yield made("number", at, end, str(int(token) + 1))
        elif match["key"] and len(names) > 1:
            yield made("swapped key", at, end, names[(names.index(token) + 1) % len(names)])


def harmless() -> Mutant:
    """Return a mutant that only adds a comment, so every test must pass with it."""
    source = "execution/create"
    text = library.sources()[source].text
    return Mutant(source, "comment", len(text), text, f"{text}-- Nothing changed.\n")


def _code_start(text: str) -> int:
    """Return where the header ends."""
    match = re.search(r"^(?!---)", text, re.MULTILINE)
    return match.start() if match else 0


def drawn(count: int, seed: int, since: str | None = None) -> list[Mutant]:
    """Draw mutants: the kinds in equal shares as far as they last, files by their size.

    With a commit, only of lines that differ from it.
    """
    lines = _lines_since(since) if since else None
    by_kind: dict[str, list[Mutant]] = {}
    for source in library.sources().values():
        for mutant in mutants_of(source.name, source.text):
            if lines is None or (mutant.source, mutant.line) in lines:
                by_kind.setdefault(mutant.kind, []).append(mutant)
    draw = random.Random(seed)
    chosen = []
    for kind in sorted(by_kind):
        draw.shuffle(by_kind[kind])
        chosen += by_kind[kind][: -(-count // len(by_kind))]
    draw.shuffle(chosen)
    return chosen[:count]


def _lines_since(commit: str) -> set[tuple[str, int]]:
    """Return the lines of Lua that differ from a commit, with the names of their files."""
    folder = Path(library.__file__).parents[2] / "lua"
    command = ["git", "diff", "--unified=0", "--relative", commit, "--", "."]
    difference = subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    lines = set()
    name = ""
    for first, count, file in _HUNK.findall(difference):
        if file:
            name = file
        else:
            lines |= {(name, int(first) + step) for step in range(int(count or 1))}
    return lines

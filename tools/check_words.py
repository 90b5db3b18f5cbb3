"""Refuse names that use a word which the glossary reserves.

The words come from the table *Reserved* of docs/glossary.md, so a feature frees its words by
moving their row to *In use*.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "holdfast"
#: Also verbs: reserved only as nouns, at the end of the name of a module or class.
VERB = "wait"
_LUA_FUNCTION = re.compile(r"^(?:local )?function (?:\w+\.)?(\w+)", re.MULTILINE)


def reserved() -> frozenset[str]:
    """Return the words of the table."""
    _, _, table = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Reserved")
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    return frozenset(word.strip() for row in rows[2:] for word in row.split(","))


def offends(name: str, words: frozenset[str], *, is_noun: bool) -> bool:
    """Whether a name contains a reserved word, in any case, singular or plural."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    parts = [word.lower() for word in spaced.split("_") if word]
    if is_noun and VERB in words and parts[-1:] in ([VERB], [f"{VERB}s"]):
        return True
    others = words - {VERB}
    plurals = {_plural(word) for word in others}
    return not (others | plurals).isdisjoint(parts)


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def names_in(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the names that a file defines, and whether each names a module or class."""
    yield path.stem, True
    text = path.read_text("utf-8")
    if path.suffix == ".lua":
        yield from ((name, False) for name in _LUA_FUNCTION.findall(text))
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, False


def taken() -> list[str]:
    """Return a line for each name that uses a reserved word."""
    words = reserved()
    files = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in {".py", ".lua"}]
    folders = sorted({path.parent for path in files})
    problems = [
        f"{folder.relative_to(ROOT)}: a reserved word"
        for folder in folders
        if offends(folder.name, words, is_noun=True)
    ]
    return problems + [
        f"{path.relative_to(ROOT)}: {name} uses a reserved word (docs/glossary.md)"
        for path in files
        for name, is_noun in names_in(path)
        if offends(name, words, is_noun=is_noun)
    ]


def main() -> int:
    """Check the names and print the problems."""
    problems = taken()
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

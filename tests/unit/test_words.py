"""The glossary's reserved words name nothing until what they are for arrives.

The words come from the table *Reserved* of docs/glossary.md, so a feature frees its words by
moving their row to *In use*.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "holdfast"
#: A verb of its own; only as the noun, at the end of a name of a module or class, is it reserved.
VERB = "wait"
_LUA_FUNCTION = re.compile(r"^(?:local )?function (?:\w+\.)?(\w+)", re.MULTILINE)


def reserved() -> frozenset[str]:
    """Return the words of the table."""
    _, _, table = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Reserved")
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    return frozenset(word.strip() for row in rows[2:] for word in row.split(","))


def words_of(name: str) -> list[str]:
    """Return the words of a name, in lower case and singular."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word.lower().removesuffix("s") for word in spaced.split("_") if word]


def offends(name: str, words: frozenset[str], *, is_noun: bool) -> bool:
    """Whether a name has a reserved word in it."""
    parts = words_of(name)
    if is_noun and parts and parts[-1] == VERB:
        return True
    singular = {word.removesuffix("s") for word in words} - {VERB}
    return not singular.isdisjoint(parts)


def _names(path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the names that a file gives, and whether each is that of a thing."""
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


def test_the_table_of_reserved_words_is_found() -> None:
    """An empty table would allow everything."""
    assert {"session", "revision", "pack", VERB} <= reserved()


@pytest.mark.parametrize(
    ("name", "is_noun", "expected"),
    [
        ("pack_item", False, True),
        ("Sessions", True, True),
        ("Wait", True, True),
        ("WaitTimedOut", True, False),
        ("wait", False, False),
        ("wait_for", False, False),
        ("packages", True, False),
        ("GraphRevision", True, True),
    ],
)
def test_words_are_found_in_names(name: str, *, is_noun: bool, expected: bool) -> None:
    """Whole words, in any case and number; `wait` only as a noun."""
    assert offends(name, reserved(), is_noun=is_noun) is expected


def test_no_module_class_or_function_takes_a_reserved_word() -> None:
    """In Python and in Lua."""
    words = reserved()
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".lua"}]
    folders = {path.parent for path in files}
    taken = [str(folder) for folder in folders if offends(folder.name, words, is_noun=True)]
    for path in files:
        taken += [
            f"{path.relative_to(ROOT)}: {name}"
            for name, is_noun in _names(path)
            if offends(name, words, is_noun=is_noun)
        ]
    assert taken == []

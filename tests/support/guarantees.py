"""Tables of guarantees: each row of a docstring names the tests that prove it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parents[1]
#: A letter of the table's files and a test there.
_NAMED = re.compile(r"\b([A-Z]) (test_\w+)")


def check_tests(table: str, files: Mapping[str, str]) -> None:
    """Check that every test that a table names exists, and that it needs all of its files."""
    named = _NAMED.findall(table)
    defined = {letter: (TESTS / path).read_text() for letter, path in files.items()}
    missing = [test for letter, test in named if f"def {test}(" not in defined[letter]]
    assert missing == []
    assert {letter for letter, _ in named} == files.keys()
    assert len(re.findall(r"\btest_", table)) == len(named)


def rows(table: str, letters: str) -> list[str]:
    """Return the rows of a table: the words at the beginning of its lines, such as `T14`."""
    heads = re.findall(rf"^((?:[{letters}]\d+ ?)+)", table, re.MULTILINE)
    return [row for head in heads for row in head.split()]

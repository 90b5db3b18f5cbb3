"""The glossary's reserved words name nothing until what they are for arrives."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "check_words.py"))


def test_the_table_of_reserved_words_is_found() -> None:
    """It is empty: everything that the design names is built."""
    assert "## Reserved\n" in (TOOL["ROOT"] / "docs" / "glossary.md").read_text("utf-8")
    assert TOOL["reserved"]() == frozenset()


@pytest.mark.parametrize(
    ("name", "is_noun", "expected"),
    [
        ("pack_item", False, True),
        ("Sessions", True, True),
        ("activities", True, True),
        ("Wait", True, True),
        ("worker_waits", True, True),
        ("WaitTimedOut", True, False),
        ("wait", False, False),
        ("wait_for", False, False),
        ("packages", True, False),
        ("GraphRevision", True, True),
    ],
)
def test_words_are_found_in_names(name: str, *, is_noun: bool, expected: bool) -> None:
    """Whole words, in any case and number; `wait` only as a noun."""
    words = frozenset({"session", "revision", "pack", "wait", "activity"})
    assert TOOL["offends"](name, words, is_noun=is_noun) is expected


def test_no_module_class_or_function_takes_a_reserved_word() -> None:
    """In Python and in Lua; `make check` says the same."""
    assert TOOL["taken"]() == []

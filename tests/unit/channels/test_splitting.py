"""Long texts are cut where readers expect it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.channels.graphemes import clusters
from holdfast.channels.splitting import split, utf16

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
WAVE = "\U0001f44b\U0001f3fd"
FLAGS = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab", ["a", "b"]),
        ("e\u0301a", ["e\u0301", "a"]),
        (FAMILY + WAVE, [FAMILY, WAVE]),
        (FLAGS, [FLAGS[:2], FLAGS[2:]]),
        ("\u1112\u1161\u11ab\u1100\u1173", ["\u1112\u1161\u11ab", "\u1100\u1173"]),
        ("\u0939\u093f\u0928", ["\u0939\u093f", "\u0928"]),
        ("\u2764\ufe0f!", ["\u2764\ufe0f", "!"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("", []),
    ],
)
def test_characters_are_those_that_readers_see(text: str, expected: list[str]) -> None:
    assert list(clusters(text)) == expected


def test_paragraphs_stay_whole() -> None:
    assert split("one two\n\nthree four", 12) == ["one two", "three four"]
    assert split("a\n\nb\n\nc", 4) == ["a\n\nb", "c"]


def test_lines_then_sentences_then_words_are_cut() -> None:
    assert split("one\ntwo\nthree", 8) == ["one\ntwo", "three"]
    assert split("One is. Two are many.", 14) == ["One is.", "Two are many."]
    assert split("one two three", 8) == ["one two", "three"]


def test_a_word_is_cut_between_characters() -> None:
    assert split("abcdef", 4) == ["abcd", "ef"]
    assert split(FAMILY * 3, 7) == [FAMILY] * 3
    assert split(FAMILY * 2, 8, utf16) == [FAMILY] * 2


def test_code_stays_whole_or_is_fenced_again() -> None:
    code = "```py\nfor a in b:\n    print(a)\n```"
    assert split(f"Look:\n\n{code}\n\nDone.", 38) == ["Look:", code, "Done."]
    lines = "\n".join(f"line {number}" for number in range(20))
    parts = split(f"Look:\n```py\n{lines}\n```\nDone.", 60)
    fenced = [part for part in parts if "line" in part]
    assert len(fenced) > 1
    for part in fenced:
        assert part.count("```") == 2
    inner = [row for part in parts for row in part.split("\n") if row.startswith("line")]
    assert inner == lines.split("\n")


def test_spaces_at_the_end_of_a_line_of_code_take_no_room() -> None:
    assert split("\n```\nword word", 12) == ["```\nword\n```"] * 2


def test_a_blank_text_has_no_parts() -> None:
    assert split(" \n\n ", 10) == []
    assert split("", 10) == []


PIECES = [
    "word",
    " ",
    "\n",
    "\n\n",
    ". ",
    "\n```\n",
    "e\u0301",
    FAMILY,
    WAVE,
    FLAGS,
    "\r\n",
    "a" * 30,
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@given(text=TEXTS, most=st.integers(12, 60))
def test_parts_fit_and_lose_nothing(text: str, most: int) -> None:
    """Whatever is cut: every part fits, no part is blank, and only white space goes."""
    parts = split(text, most)
    assert all(0 < len(part) <= most for part in parts)
    assert all(not unicodedata.combining(part[0]) for part in parts[1:])
    if "```" not in text:
        assert "".join("".join(parts).split()) == "".join(text.split())

"""What a reader sees as one character, which may be several code points.

A close approximation of the extended grapheme clusters of Unicode, enough to never cut an accent,
an emoji, a flag or a Korean syllable in two.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"
_MARKS = frozenset({"Mn", "Me", "Mc"})
_LEAD, _VOWEL, _TAIL = range(0x1100, 0x1160), range(0x1160, 0x11A8), range(0x11A8, 0x1200)
_SYLLABLES = range(0xAC00, 0xD7A4)


def clusters(text: str) -> Iterator[str]:
    """Yield the characters of a text as readers see them."""
    start = 0
    flags = 0
    for index in range(1, len(text)):
        before, char = text[index - 1], text[index]
        flags = flags + 1 if _is_flag(before) else 0
        if _is_flag(char) and flags % 2:
            continue
        if not _extends(before, char):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def _extends(before: str, char: str) -> bool:
    """Whether a code point belongs to the one before it."""
    if before == "\r":
        return char == "\n"
    if _JOINER in (char, before) or unicodedata.category(char) in _MARKS:
        return before != "\n"
    return _is_modifier(char) or _is_jamo(before, char)


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_modifier(char: str) -> bool:
    """Whether it is a skin tone, or part of the name of a regional flag."""
    return "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f"


def _is_jamo(before: str, char: str) -> bool:
    first, second = ord(before), ord(char)
    if first in _LEAD:
        return second in _LEAD or second in _VOWEL or second in _SYLLABLES
    return (first in _VOWEL or first in _SYLLABLES or first in _TAIL) and (
        second in _TAIL or (second in _VOWEL and first not in _TAIL)
    )

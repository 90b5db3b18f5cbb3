"""Suggestions for names that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_FEW = 12


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion: the closest known word, or all of them if they are few."""
    names = sorted(set(known))
    low = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower()[:80], list(low), n=1, cutoff=0.6)
    if close:
        return f"did you mean `{low[close[0]]}`?"
    if 0 < len(names) <= _FEW:
        return "there is " + ", ".join(f"`{name}`" for name in names)
    return ""

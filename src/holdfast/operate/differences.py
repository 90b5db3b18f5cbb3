"""What differs between two values: paths that are new, gone or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: More differences than this are counted, and not listed.
MOST = 500
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place in which two values differ."""

    #: Keys and positions from the outside in.
    path: tuple[str, ...]
    #: added, removed or changed.
    change: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, slots=True)
class Differences:
    """The first differences of two values, and how many there are in all."""

    items: tuple[Difference, ...]
    total: int


def of(before: Any, after: Any) -> Differences:
    """Compare two values of JSON; keys of maps are compared by name, items of lists by position."""
    found = list(_walk((), before, after))
    return Differences(tuple(found[:MOST]), len(found))


def _walk(path: tuple[str, ...], before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        names = [*before, *(name for name in after if name not in before)]
        for name in names:
            inner = (*path, str(name))
            yield from _walk(inner, before.get(name, _MISSING), after.get(name, _MISSING))
    elif _is_list(before) and _is_list(after):
        for at in range(max(len(before), len(after))):
            one = before[at] if at < len(before) else _MISSING
            other = after[at] if at < len(after) else _MISSING
            yield from _walk((*path, str(at)), one, other)
    elif before is _MISSING:
        yield Difference(path=path, change="added", after=after)
    elif after is _MISSING:
        yield Difference(path=path, change="removed", before=before)
    # In Python, True equals 1.
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield Difference(path=path, change="changed", before=before, after=after)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)

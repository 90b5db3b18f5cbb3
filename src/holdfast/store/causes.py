"""Causes of failures, put together from all partitions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.model import causes
from holdfast.model.causes import Cause
from holdfast.model.moments import from_ms

#: How many executions show what a cause is about.
EXAMPLES = 3


@dataclass(slots=True)
class _Group:
    count: int = 0
    first: int = 1 << 53
    #: The last ones: when each ended, and its id.
    last: list[tuple[int, str]] = field(default_factory=list)


def gathered(rows: Iterable[Sequence[Any]]) -> list[Cause]:
    """Return the causes that partitions report, the most frequent first."""
    groups: dict[str, _Group] = {}
    for name, count, first, last in rows:
        group = groups.setdefault(name.decode(), _Group())
        group.count += count
        group.first = min(group.first, int(first))
        ends = zip(last[::2], last[1::2], strict=True)
        recent = [*group.last, *((int(end), one.decode()) for one, end in ends)]
        group.last = heapq.nlargest(EXAMPLES, recent)
    found = [_cause(name, group) for name, group in groups.items()]
    return sorted(found, key=lambda cause: (-cause.count, cause.kind, cause.error_type))


def _cause(name: str, group: _Group) -> Cause:
    kind, _, packed = name.partition("|")
    error_type, code, place = causes.parse(packed)
    return Cause(
        kind=kind,
        error_type=error_type,
        code=code,
        place=place,
        count=group.count,
        first_at=from_ms(group.first),
        last_at=from_ms(group.last[0][0]),
        examples=tuple(one for _, one in group.last),
    )

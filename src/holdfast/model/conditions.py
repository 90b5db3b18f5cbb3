"""Conditions of a wait: which signals must come before an execution continues.

    {"waitpoint": "approval", "signal": "approve", "where": "payload.amount < 100"}
    {"all": [...]}   {"any": [...]}   {"count": 2, "distinct": "sources", "of": [...]}
    {"not_before": "2026-12-01T08:00:00Z"}   {"after_ms": 60000}

A count covers the signals of those conditions that hold: how many different signals, from how many
different sources, or at how many waitpoints. Without `distinct` it counts the conditions
themselves. Every leaf keeps its own signals, so no two parts of a condition compete.

The store evaluates the same tree (lua/lib/waitpoint/conditions.lua) when a signal arrives; `holds`
gives the same answer in Python, and `missing` describes what is still missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from holdfast.errors import InvalidCondition
from holdfast.model import bounds, checks, expressions
from holdfast.model.moments import to_ms

#: How a count distinguishes signals.
DISTINCT = ("signals", "sources", "waitpoints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A signal as a condition sees it."""

    waitpoint: str
    name: str
    payload: Any = None
    source: tuple[str, str] = ("", "")

    def variables(self) -> dict[str, Any]:
        """Return the variables that an expression can use."""
        kind, identity = self.source
        return {
            "payload": self.payload,
            "name": self.name,
            "source": {"type": kind, "identity": identity},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A signal at a waitpoint."""

    waitpoint: str
    #: Names, or prefixes that end in `*`; none means any.
    names: tuple[str, ...] = ()
    where: str | None = None

    def matches(self, seen: Seen) -> bool:
        """Whether a signal counts here."""
        return (
            seen.waitpoint == self.waitpoint
            and is_named(self.names, seen.name)
            and (self.where is None or expressions.holds(self.where, seen.variables()))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """A time: a moment, or a duration after the start of the wait."""

    time_ms: int | None = None
    span_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Several conditions of which some or all must hold."""

    of: tuple[Condition, ...]
    #: How many must hold; None means all of them.
    least: int | None = None
    distinct: str | None = None


Condition = Leaf | After | Group


def is_named(names: Sequence[str], name: str) -> bool:
    """Whether a name matches one of `names`; one that ends in `*` is a prefix."""
    return not names or any(
        name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1]))
        for pattern in names
    )


def parse(value: Any, waitpoints: Sequence[str]) -> Condition:
    """Check a condition from outside; it may name these waitpoints only."""
    condition = _parse("condition", value, frozenset(waitpoints), depth=1)
    if sum(1 for _ in _walk(condition)) > bounds.CONDITION_NODES:
        _refuse("condition", f"has more than {bounds.CONDITION_NODES} parts")
    return condition


def holds(condition: Condition, signals: Sequence[Seen], now_ms: int, began_ms: int = 0) -> bool:
    """Whether a condition holds after these signals, at this time."""
    return _found(condition, signals, now_ms, began_ms) is not None


def missing(
    condition: Condition,
    signals: Sequence[Seen],
    now_ms: int,
    answerers: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Describe what is still missing, empty if nothing. `answerers` may answer, by waitpoint."""
    if holds(condition, signals, now_ms):
        return ""
    if isinstance(condition, Leaf):
        names = f"signal {' or '.join(condition.names)}" if condition.names else "a signal"
        people = (answerers or {}).get(condition.waitpoint)
        return f"{names} at {condition.waitpoint}" + (f" by {_or(people)}" if people else "")
    if isinstance(condition, After):
        return "a later time"
    return _missing_of(condition, signals, now_ms, answerers or {})


def _missing_of(
    condition: Group, signals: Sequence[Seen], now_ms: int, answerers: Mapping[str, Sequence[str]]
) -> str:
    """Describe the missing parts of a group."""
    have = _count(condition, signals, now_ms, 0)
    asked = _approval_at(condition)
    if asked is not None:
        return _missing_approval(condition, asked, signals, have, answerers.get(asked, ()))
    # It is obvious that a denial ends a wait for approval, so do not mention it.
    asked_at = {_approval_at(part) for part in condition.of} - {None}
    parts = [
        text
        for part in condition.of
        if not (isinstance(part, Leaf) and part.names == ("deny",) and part.waitpoint in asked_at)
        and (text := missing(part, signals, now_ms, answerers))
    ]
    if condition.least is None:
        return " and ".join(parts)
    if condition.least == 1:
        return " or ".join(parts)
    what = f"different {condition.distinct}" if condition.distinct else "of the conditions"
    return f"{condition.least - have} more of {condition.least} {what}"


def _approval_at(condition: Condition) -> str | None:
    """Return the waitpoint of a condition that asks different people to approve, else None."""
    if not isinstance(condition, Group) or condition.distinct != "sources":
        return None
    match condition.of:
        case (Leaf(waitpoint=waitpoint, names=("approve",), where=None),):
            return waitpoint
    return None


def _missing_approval(
    group: Group, waitpoint: str, signals: Sequence[Seen], have: int, answerers: Sequence[str]
) -> str:
    """Describe how many more people must approve, and who may."""
    left = (group.least or 1) - have
    approved = {
        seen.source[1] for seen in signals if any(leaf.matches(seen) for leaf in leaves(group))
    }
    people = [name for name in answerers if name not in approved]
    more = f"{left} more" if have or left > 1 else "one"
    if people:
        who = people[0] if len(people) == 1 else f"{more} of {', '.join(people)}"
    elif left == 1:
        who = "one more person" if have else "one person"
    else:
        who = f"{left} more people" if have else f"{left} people"
    return f"approval by {who} at {waitpoint}"


def _or(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def encode(condition: Condition, positions: Mapping[str, int]) -> dict[str, Any]:
    """Return the tree for lib/waitpoint/conditions.lua, with leaves numbered from 1."""
    numbers = iter(range(1, bounds.CONDITION_NODES + 1))
    return _encode(condition, positions, numbers)


def decode(tree: Mapping[str, Any], waitpoints: Sequence[str]) -> Condition:
    """Return the condition of a stored tree."""
    if tree["op"] == "leaf":
        return Leaf(
            waitpoint=waitpoints[tree["at"] - 1],
            names=tuple(tree.get("names", ())),
            where=tree.get("where"),
        )
    if tree["op"] == "after":
        return After(time_ms=tree["time"])
    return Group(
        of=tuple(decode(child, waitpoints) for child in tree["of"]),
        least=None if tree["op"] == "all" else tree.get("n", 1),
        distinct=tree.get("by"),
    )


def leaves(condition: Condition) -> list[Leaf]:
    """Return the leaves in the order of their numbers."""
    return [node for node in _walk(condition) if isinstance(node, Leaf)]


def _walk(condition: Condition) -> Iterator[Condition]:
    yield condition
    if isinstance(condition, Group):
        for child in condition.of:
            yield from _walk(child)


def _refuse(field: str, problem: str) -> NoReturn:
    raise InvalidCondition(f"{field}: {problem}", field=field)


def _parse(field: str, value: Any, waitpoints: frozenset[str], depth: int) -> Condition:
    if depth > bounds.CONDITION_DEPTH:
        _refuse(field, f"is nested deeper than {bounds.CONDITION_DEPTH}")
    if not isinstance(value, Mapping):
        _refuse(field, "must be an object")
    forms = [name for name in _FORMS if name in value]
    if len(forms) != 1:
        _refuse(field, f"must have exactly one of {', '.join(_FORMS)}")
    parser, allowed = _FORMS[forms[0]]
    unknown = sorted(set(value) - {forms[0], *allowed}, key=str)
    if unknown:
        _refuse(f"{field}.{unknown[0]}", "is not a known field")
    return parser(field, value, waitpoints, depth)


def _parse_leaf(field: str, value: Mapping[str, Any], known: frozenset[str], _: int) -> Leaf:
    waitpoint = value["waitpoint"]
    if not isinstance(waitpoint, str) or waitpoint not in known:
        _refuse(f"{field}.waitpoint", "must be one of the waitpoints of this wait")
    names = value.get("signal")
    listed = names if isinstance(names, list | tuple) else [] if names is None else [names]
    if len(listed) > bounds.SIGNAL_NAMES:
        _refuse(f"{field}.signal", f"must have at most {bounds.SIGNAL_NAMES} names")
    where = value.get("where")
    return Leaf(
        waitpoint=waitpoint,
        names=tuple(signal_name(f"{field}.signal", name) for name in listed),
        where=None if where is None else expressions.check(f"{field}.where", where),
    )


def signal_name(field: str, value: Any) -> str:
    """Check the name of a signal, or a prefix that ends in `*`."""
    stem = value[:-1] if isinstance(value, str) and value.endswith("*") else value
    if value != "*":
        checks.name(field, stem)
    return str(value)


def _parse_list(field: str, value: Any, known: frozenset[str], depth: int) -> tuple[Condition, ...]:
    if not isinstance(value, list | tuple) or not value:
        _refuse(field, "must be a list with at least one condition")
    return tuple(_parse(f"{field}[{i}]", one, known, depth + 1) for i, one in enumerate(value))


def _parse_all(field: str, value: Mapping[str, Any], known: frozenset[str], depth: int) -> Group:
    return Group(of=_parse_list(f"{field}.all", value["all"], known, depth))


def _parse_any(field: str, value: Mapping[str, Any], known: frozenset[str], depth: int) -> Group:
    return Group(of=_parse_list(f"{field}.any", value["any"], known, depth), least=1)


def _parse_count(field: str, value: Mapping[str, Any], known: frozenset[str], depth: int) -> Group:
    if "of" not in value:
        _refuse(f"{field}.of", "is required")
    of = _parse_list(f"{field}.of", value["of"], known, depth)
    distinct = value.get("distinct")
    least = value["count"]
    if isinstance(least, bool) or not isinstance(least, int) or least < 1:
        _refuse(f"{field}.count", "must be an integer of at least 1")
    if distinct is not None and distinct not in DISTINCT:
        _refuse(f"{field}.distinct", f"must be one of {', '.join(DISTINCT)}")
    group = Group(of=of, least=least, distinct=distinct)
    most = {
        None: len(of),
        "waitpoints": len({leaf.waitpoint for leaf in leaves(group)}),
    }.get(distinct, 10_000)
    if least > most:
        _refuse(f"{field}.count", f"can never be reached: there are only {most}")
    return group


def _parse_moment(field: str, value: Mapping[str, Any], _: frozenset[str], __: int) -> After:
    moment = value["not_before"]
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            _refuse(f"{field}.not_before", "must be a time as RFC 3339")
    return After(time_ms=to_ms(checks.instant(f"{field}.not_before", moment)))


def _parse_span(field: str, value: Mapping[str, Any], _: frozenset[str], __: int) -> After:
    span = checks.integer(f"{field}.after_ms", value["after_ms"], 0, bounds.DURATION_MS)
    return After(span_ms=span)


_Parser = Callable[[str, Mapping[str, Any], frozenset[str], int], Condition]

_FORMS: dict[str, tuple[_Parser, tuple[str, ...]]] = {
    "waitpoint": (_parse_leaf, ("signal", "where")),
    "all": (_parse_all, ()),
    "any": (_parse_any, ()),
    "count": (_parse_count, ("distinct", "of")),
    "not_before": (_parse_moment, ()),
    "after_ms": (_parse_span, ()),
}


def _found(
    condition: Condition, signals: Sequence[Seen], now_ms: int, began_ms: int
) -> set[int] | None:
    """Return the indexes of the signals that make a condition hold, None if it does not."""
    if isinstance(condition, Leaf):
        matched = {i for i, seen in enumerate(signals) if condition.matches(seen)}
        return matched or None
    if isinstance(condition, After):
        span = condition.span_ms
        time = condition.time_ms if span is None else began_ms + span
        return set() if time is not None and now_ms >= time else None
    holding = [_found(child, signals, now_ms, began_ms) for child in condition.of]
    least = len(condition.of) if condition.least is None else condition.least
    if _count(condition, signals, now_ms, began_ms) < least:
        return None
    return {index for found in holding if found is not None for index in found}


def _count(group: Group, signals: Sequence[Seen], now_ms: int, began_ms: int) -> int:
    found = [_found(child, signals, now_ms, began_ms) for child in group.of]
    holding = [one for one in found if one is not None]
    if group.distinct is None:
        return len(holding)
    indexes = {index for one in holding for index in one}
    if group.distinct == "signals":
        return len(indexes)
    if group.distinct == "sources":
        return len({signals[i].source for i in indexes})
    return len({signals[i].waitpoint for i in indexes})


def _encode(
    condition: Condition, positions: Mapping[str, int], numbers: Iterator[int]
) -> dict[str, Any]:
    if isinstance(condition, Leaf):
        tree: dict[str, Any] = {
            "op": "leaf",
            "leaf": next(numbers),
            "at": positions[condition.waitpoint],
        }
        if condition.names:
            tree["names"] = list(condition.names)
        if condition.where is not None:
            tree["where"] = condition.where
        return tree
    if isinstance(condition, After):
        if condition.span_ms is not None:
            return {"op": "after", "span": condition.span_ms}
        return {"op": "after", "time": condition.time_ms}
    of = [_encode(child, positions, numbers) for child in condition.of]
    if condition.least is None:
        return {"op": "all", "of": of}
    tree = {"op": "count", "n": condition.least, "of": of}
    if condition.distinct is not None:
        tree["by"] = condition.distinct
    return tree

"""Rules of children that are bound to their parents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.model.states import TERMINAL
from holdfast.store.verify.drifts import Drift, Entry, Kind
from holdfast.store.verify.view import Record, View

_BOUND_ID = re.compile(r"(.+)~([0-9]+)\.g?[0-9]+\Z")


def problems(record: Record) -> Iterator[str]:
    """Return what is wrong with the record of a parent."""
    if has_ended(record) and "bonds" in record:
        yield "has ended, but its record has bonds"


def entries(view: View, execution_id: str, record: Record) -> Iterator[Entry]:
    """Return the place of a bound child with its parent."""
    if "bond" in record and not has_ended(record):
        yield from place_of(view, execution_id, record)


def place_of(view: View, child: str, record: Record) -> Iterator[Entry]:
    """Return the place of a living child, execution or graph, with its parent."""
    match = _BOUND_ID.match(child)
    if match is None:
        return
    parent = view.execution(match[1])
    lives = parent is not None and not has_ended(parent)
    current = parent is not None and parent.get("replays", b"0") == match[2].encode()
    key, born = f"bonds:{match[1]}", float(record["born"])
    yield Entry(key, child.encode(), optional=not (lives and current), default=born)


def parent_entries(view: View, parent: str) -> Iterator[Entry]:
    """Return the timer of an ended parent, which cancels its bound children.

    It may be replayed before the timer has fired.
    """
    needed = has_ended(view.execution(parent)) and view.has(f"bonds:{parent}")
    yield Entry("timers", b"o:" + parent.encode(), optional=not needed, default=0.0)


def parent_drifts(view: View, parent: str) -> Iterator[Drift]:
    """Check that the record of a parent says that children are bound to it."""
    record = view.execution(parent)
    if record is not None and not has_ended(record) and record.get("bonds") != b"1":
        about, text = f"execution {parent}:", "has bound children, but its record does not say so"
        repairs = (
            ("HSET", f"x:{parent}", "bonds", "1"),
            *([("HSET", f"x:{parent}", "plain", "0")] if record.get("plain", b"0") != b"0" else []),
        )
        yield Drift(Kind.WRONG, about, text, repairs)


def has_ended(record: Record | None) -> bool:
    """Return whether an execution has ended, or is gone."""
    return record is None or record["state"].decode() in TERMINAL

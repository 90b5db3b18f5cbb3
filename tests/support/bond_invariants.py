"""What must always hold for children that are bound to their parents, checked from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.model.states import TERMINAL

Record = dict[str, bytes]
Families = Mapping[str, Mapping[str, Any]]

_BOUND_ID = re.compile(r"(.+)~([0-9]+)\.g?[0-9]+\Z")


def bond_timers(families: Families, records: Mapping[str, Record]) -> dict[bytes, None]:
    """Return the timers that may exist: each of an ended parent that still has bound children."""
    return {
        timer: None
        for timer in families["timers"].get("", {})
        if timer.startswith(b"o:") and _has_ended(records.get(timer[2:].decode()))
    }


def bond_problems(families: Families, records: Mapping[str, Record]) -> Iterator[str]:
    """Say what is wrong with the bonds of a partition."""
    living = _living(families, records)
    bound = {
        child.decode(): parent for parent, members in families["bonds"].items() for child in members
    }
    yield from _check_parents(families, records)
    for child, parent in bound.items():
        match = _BOUND_ID.match(child)
        if match is None or match[1] != parent or child not in living:
            yield f"{child} is bound to {parent}, but has ended or is no child of it"
    for child in living - bound.keys():
        match = _BOUND_ID.match(child)
        above = records.get(match[1], {}) if match else {}
        is_current = match is not None and above.get("replays", b"0") == match[2].encode()
        if above and is_current and not _has_ended(above):
            yield f"{child} should be bound to its parent"


def _check_parents(families: Families, records: Mapping[str, Record]) -> Iterator[str]:
    timers = families["timers"].get("", {})
    for parent in families["bonds"]:
        if not _has_ended(records.get(parent)):
            if records[parent].get("bonds") != b"1":
                yield f"execution {parent} has bound children, but its record does not say so"
        elif b"o:" + parent.encode() not in timers:
            yield f"execution {parent} has ended, and nothing will cancel its bound children"
    for execution_id, record in records.items():
        if _has_ended(record) and "bonds" in record:
            yield f"execution {execution_id} has ended, but its record has bonds"


def _living(families: Families, records: Mapping[str, Record]) -> set[str]:
    """Return the executions and graphs with a bond that have not ended."""
    graphs = {
        graph_id
        for graph_id, fields in families["graph"].items()
        if b"bond" in fields and b"ended" not in fields and b"cancel" not in fields
    }
    children = {i for i, record in records.items() if "bond" in record and not _has_ended(record)}
    return graphs | children


def _has_ended(record: Record | None) -> bool:
    return record is None or record["state"].decode() in TERMINAL

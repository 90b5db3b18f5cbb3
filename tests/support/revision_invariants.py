"""What must always hold for the sets of executions that need a revision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.model.states import TERMINAL, State

REVISION_FAMILIES = ("revwaits", "revruns", "revclosed", "revfigures")


def revision_problems(
    families: Mapping[str, Mapping[str, Any]], records: Mapping[str, Mapping[str, bytes]]
) -> Iterator[str]:
    """Yield a sentence for each set that differs from what the records say."""
    expected: dict[str, dict[str, set[bytes]]] = {
        family: defaultdict(set) for family in ("revwaits", "revruns")
    }
    for execution_id, record in records.items():
        state = State(record["state"].decode())
        if "rev" not in record or state in TERMINAL:
            continue
        family = "revwaits" if state is State.SUSPENDED else "revruns"
        name = f"{record['tenant'].decode()}|{record['rev'].decode()}"
        expected[family][name].add(execution_id.encode())
    for family, sets in expected.items():
        found = {name: set(members) for name, members in families[family].items()}
        if found != sets:
            yield f"{family} is {found}, and the records say {dict(sets)}"

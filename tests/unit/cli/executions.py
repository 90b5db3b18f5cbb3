"""Executions as commands get them, for tests of what they show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from holdfast.model.executions import Execution, ExecutionId
from holdfast.model.states import AttemptKind, State

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def execution(state: State, **fields: Any) -> Execution:
    """Return an execution of which no more is known than its state and these fields."""
    values: dict[str, Any] = dict.fromkeys(Execution.__dataclass_fields__)
    values |= {
        "id": ExecutionId("x1"),
        "tenant": "default",
        "lane": "default",
        "kind": "mail",
        "requires": (),
        "state": state,
        "attempt_kind": AttemptKind.INITIAL,
        "attempts": 1,
        "failures": 0,
        "tags": {},
        "created_at": CREATED,
    }
    return Execution(**{**values, **fields})

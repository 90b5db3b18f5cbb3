"""Resubmissions: another execution like one that there is, perhaps with another input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.errors import InvalidInput
from holdfast.model import bounds, checks
from holdfast.model.executions import Execution
from holdfast.model.names import parse_id
from holdfast.model.session_keys import session_of

#: The tag that names the execution of which another is a copy, so copies can be listed by it.
ORIGIN = "resubmit_of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubmission:
    """What differs from the original; absent fields stay as they are there."""

    input: bytes | None = None
    lane: str | None = None
    priority: int | None = None
    tags: Mapping[str, str] | None = None
    #: The id of the new execution, which makes the call safe to repeat; generated if absent.
    id: str | None = None

    def __post_init__(self) -> None:
        if self.input is not None:
            checks.payload("input", self.input)
        if self.tags is not None:
            checks.tags("tags", dict(self.tags))

    def fields(self, origin: Execution, payload: bytes) -> dict[str, Any]:
        """Return the fields of the new execution; the task gives what the original does not say."""
        if session_of(origin.id) is not None:
            message = "id: belongs to a session, whose messages start its executions"
            raise InvalidInput(message, field="id")
        _, own_id = parse_id(origin.id)
        tags = dict(origin.tags if self.tags is None else self.tags)
        return {
            "kind": origin.kind,
            "tenant": origin.tenant,
            "input": payload if self.input is None else self.input,
            "lane": origin.lane if self.lane is None else self.lane,
            "priority": origin.priority if self.priority is None else self.priority,
            "requires": origin.requires,
            "budgets": origin.budgets,
            "quotas": origin.quotas,
            "tags": {**tags, ORIGIN: own_id[: bounds.TAG_VALUE_CHARS]},
            "id": self.id,
        }


def origin_of(execution: Execution) -> str | None:
    """Return the id of the execution, of the same tenant, of which this is a copy."""
    return execution.tags.get(ORIGIN)

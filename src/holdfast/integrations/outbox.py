"""Entries of an outbox: submissions in a table of the user's database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from holdfast.errors import InvalidInput
from holdfast.model import names
from holdfast.model.executions import NewExecution
from holdfast.model.ids import id_of_key, new_id
from holdfast.tracing import current_traceparent
from holdfast.worker.task import Task


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission that is written with the data that it belongs to."""

    #: Sorts roughly by time. Without another name, it is the idempotency key of the submission.
    id: str
    item: NewExecution

    @property
    def execution_id(self) -> str:
        """The id that the execution will have."""
        if self.item.id is not None:
            return names.stored_id(self.item.tenant, self.item.id)
        return id_of_key(self.item.tenant, self.item.idempotency_key or "")

    def encode(self) -> bytes:
        """Return the whole submission as JSON."""
        return msgspec.json.encode(self.item)


def new_entry(task: Task[Any, Any, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Entry:
    """Make an entry of a task and its arguments; raises InvalidInput."""
    if task.template.window is not None:
        raise InvalidInput(
            "a task with debounce or throttle cannot be submitted by an outbox: its submissions "
            "have no key that says which is which",
            field="task",
        )
    item = task.template.with_input(task.encode_input(args, dict(kwargs)), current_traceparent())
    entry_id = new_id()
    if not item.is_named:
        item = replace(item, idempotency_key=entry_id)
    return Entry(entry_id, item)


def decode(entry: bytes) -> NewExecution:
    """Return the submission of an entry; raises InvalidInput."""
    try:
        return msgspec.json.decode(entry, type=NewExecution)
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"the entry is not a submission: {error}", field="execution") from error

"""The outbox: submissions that are committed with the data that they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import msgspec
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from holdfast.errors import InvalidInput
from holdfast.integrations.sqlalchemy.tables import OutboxEntry
from holdfast.model import names
from holdfast.model.executions import NewExecution
from holdfast.model.ids import id_of_key, new_id
from holdfast.tracing import current_traceparent
from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")

AnySession = Session | AsyncSession | scoped_session[Any] | async_scoped_session[Any]


def submit(session: AnySession, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> str:
    """Submit a task if and when the session commits; return the id of the execution.

    The submission is a row that the session writes with its other changes. A relay submits it soon
    after the commit, exactly once. The app of the task need not be open here.
    """
    if task.template.window is not None:
        raise InvalidInput(
            "a task with debounce or throttle cannot be submitted by an outbox: its submissions "
            "have no key that says which is which",
            field="task",
        )
    item = task.template.with_input(task.encode_input(args, kwargs), current_traceparent())
    entry_id = new_id()
    if not item.is_named:
        item = replace(item, idempotency_key=entry_id)
    session.add(OutboxEntry(id=entry_id, execution=msgspec.json.encode(item)))
    return _id_of(item)


def decode(entry: bytes) -> NewExecution:
    """Return the submission of an entry; raises InvalidInput."""
    try:
        return msgspec.json.decode(entry, type=NewExecution)
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"the entry is not a submission: {error}", field="execution") from error


def _id_of(item: NewExecution) -> str:
    """Return the id that the execution will have."""
    if item.id is not None:
        return names.stored_id(item.tenant, item.id)
    return id_of_key(item.tenant, item.idempotency_key or "")

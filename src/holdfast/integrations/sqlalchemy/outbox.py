"""The outbox: submissions that are committed with the data that they belong to."""

from __future__ import annotations

from typing import Any, ParamSpec, TypeVar

from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from holdfast.integrations.outbox import new_entry
from holdfast.integrations.sqlalchemy.tables import OutboxEntry
from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")

AnySession = Session | AsyncSession | scoped_session[Any] | async_scoped_session[Any]


def submit(session: AnySession, task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> str:
    """Submit a task if and when the session commits; return the id of the execution.

    The submission is a row that the session writes with its other changes. A relay submits it soon
    after the commit, exactly once. The app of the task need not be open here.
    """
    entry = new_entry(task, args, kwargs)
    session.add(OutboxEntry(id=entry.id, execution=entry.encode()))
    return entry.execution_id

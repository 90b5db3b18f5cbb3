"""Submissions that belong to a transaction of the database."""

from __future__ import annotations

import atexit
import functools
import os
import threading
from collections.abc import Sequence
from typing import Any, ParamSpec, TypeVar

from django.db import transaction

from holdfast.errors import HoldfastError
from holdfast.integrations.django import conf
from holdfast.integrations.outbox import Entry, new_entry
from holdfast.model.executions import NewExecution, Submitted
from holdfast.worker.app import App
from holdfast.worker.sync import SyncClient
from holdfast.worker.task import Task

P = ParamSpec("P")
R = TypeVar("R")


def submit(task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> str:
    """Submit a task if and when the transaction commits; return the id of the execution.

    The submission is a row of the outbox. A worker submits it soon after the commit, exactly once,
    also if this process dies.
    """
    # Models exist once all apps are loaded, and this module is imported before.
    from holdfast.integrations.django.models import OutboxEntry  # noqa: PLC0415

    entry = new_entry(task, args, kwargs)
    database = conf.read().database
    OutboxEntry.objects.using(database).create(id=entry.id, execution=entry.encode())
    return entry.execution_id


def submit_on_commit(task: Task[P, R, Any], /, *args: P.args, **kwargs: P.kwargs) -> str:
    """Submit a task at once after the transaction commits; return the id of the execution.

    Nothing is written to the database: if this process dies between the commit and the submission,
    or the store does not answer, the submission is lost. `submit` does not lose it.
    """
    entry = new_entry(task, args, kwargs)
    transaction.on_commit(functools.partial(_submit_now, entry), using=conf.read().database)
    return entry.execution_id


def _submit_now(entry: Entry) -> None:
    (answer,) = connection.submit_many([entry.item])
    if isinstance(answer, HoldfastError):
        raise answer


class Connection:
    """A connection of this process to Holdfast, for code that blocks; opened when first used."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._app: App
        self._client: SyncClient

    def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        """Submit, and wait for the answers."""
        with self._lock:
            # A web server forks after it has imported the project, and perhaps after it submitted.
            if self._process != os.getpid():
                self._open()
        return self._client.wait(self._app.engine.submit_many(items))

    def _open(self) -> None:
        chosen = conf.read()
        # Not the app of the project: where a worker runs, that one belongs to its event loop.
        self._app = App(chosen.store, settings=chosen.store_settings, key=chosen.key)
        self._client = SyncClient(self._app).__enter__()
        self._process = os.getpid()

    def close(self) -> None:
        """Close it; the next submission opens another one."""
        with self._lock:
            if self._process == os.getpid():
                self._process = 0
                self._client.__exit__()


connection: Connection = Connection()
atexit.register(connection.close)

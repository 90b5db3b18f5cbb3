"""Holdfast: durable execution for Python. Work that is accepted is held fast until it is done."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.client import Client
    from holdfast.errors import HoldfastError
    from holdfast.model.effects import Push, Submit
    from holdfast.model.graphs import Join
    from holdfast.model.retry import Backoff, RetryPolicy
    from holdfast.worker.app import App
    from holdfast.worker.context import Context
    from holdfast.worker.handle import Handle
    from holdfast.worker.outcomes import Denied, GiveUp, Retry, WaitTimedOut
    from holdfast.worker.resources import use
    from holdfast.worker.sync import SyncClient
    from holdfast.worker.sync_context import SyncContext
    from holdfast.worker.task import Task
    from holdfast.worker.worker import WorkerSettings

__all__ = [
    "App",
    "Backoff",
    "Client",
    "Context",
    "Denied",
    "GiveUp",
    "Handle",
    "HoldfastError",
    "Join",
    "Push",
    "Retry",
    "RetryPolicy",
    "Submit",
    "SyncClient",
    "SyncContext",
    "Task",
    "WaitTimedOut",
    "WorkerSettings",
    "use",
]

#: Where the names live. They are imported at their first use, so that the command line starts fast.
_HOMES = {
    "App": "worker.app",
    "Backoff": "model.retry",
    "Client": "client",
    "Context": "worker.context",
    "Denied": "worker.outcomes",
    "GiveUp": "worker.outcomes",
    "Handle": "worker.handle",
    "HoldfastError": "errors",
    "Join": "model.graphs",
    "Push": "model.effects",
    "Retry": "worker.outcomes",
    "RetryPolicy": "model.retry",
    "Submit": "model.effects",
    "SyncClient": "worker.sync",
    "SyncContext": "worker.sync_context",
    "Task": "worker.task",
    "WaitTimedOut": "worker.outcomes",
    "WorkerSettings": "worker.worker",
    "use": "worker.resources",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"holdfast.{_HOMES[name]}"), name)

"""Holdfast: durable execution for Python. Work that is accepted is held fast until it is done."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.client import Client
    from holdfast.errors import HoldfastError
    from holdfast.model.retry import Backoff, RetryPolicy
    from holdfast.worker.app import App
    from holdfast.worker.context import Context, SyncContext
    from holdfast.worker.handle import Handle
    from holdfast.worker.outcomes import GiveUp, Retry
    from holdfast.worker.resources import use
    from holdfast.worker.sync import SyncClient
    from holdfast.worker.task import Task
    from holdfast.worker.worker import WorkerSettings

__all__ = [
    "App",
    "Backoff",
    "Client",
    "Context",
    "GiveUp",
    "Handle",
    "HoldfastError",
    "Retry",
    "RetryPolicy",
    "SyncClient",
    "SyncContext",
    "Task",
    "WorkerSettings",
    "use",
]

#: Where the names live. They are imported at their first use, so that the command line starts fast.
_HOMES = {
    "App": "worker.app",
    "Backoff": "model.retry",
    "Client": "client",
    "Context": "worker.context",
    "GiveUp": "worker.outcomes",
    "Handle": "worker.handle",
    "HoldfastError": "errors",
    "Retry": "worker.outcomes",
    "RetryPolicy": "model.retry",
    "SyncClient": "worker.sync",
    "SyncContext": "worker.context",
    "Task": "worker.task",
    "WorkerSettings": "worker.worker",
    "use": "worker.resources",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(f"holdfast.{_HOMES[name]}"), name)

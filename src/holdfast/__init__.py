"""Holdfast: durable execution for Python. Work that is accepted is held fast until it is done."""

from __future__ import annotations

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

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
    from holdfast.model.sessions import OutgoingReply
    from holdfast.worker.app import App
    from holdfast.worker.asking import Answer
    from holdfast.worker.chat import Chat
    from holdfast.worker.context import Context
    from holdfast.worker.conversation import Conversation
    from holdfast.worker.handle import Handle
    from holdfast.worker.messages import Button, ChatMessage
    from holdfast.worker.outcomes import (
        Denied,
        GiveUp,
        InvalidAnswer,
        NotApproved,
        Retry,
        WaitTimedOut,
    )
    from holdfast.worker.resources import use
    from holdfast.worker.sync import SyncClient
    from holdfast.worker.sync_chat import SyncChat
    from holdfast.worker.sync_context import SyncContext
    from holdfast.worker.task import Task
    from holdfast.worker.worker import WorkerSettings

__all__ = [
    "Answer",
    "App",
    "Backoff",
    "Button",
    "Chat",
    "ChatMessage",
    "Client",
    "Context",
    "Conversation",
    "Denied",
    "GiveUp",
    "Handle",
    "HoldfastError",
    "InvalidAnswer",
    "Join",
    "NotApproved",
    "OutgoingReply",
    "Push",
    "Retry",
    "RetryPolicy",
    "Submit",
    "SyncChat",
    "SyncClient",
    "SyncContext",
    "Task",
    "WaitTimedOut",
    "WorkerSettings",
    "use",
]

#: Where the names live. They are imported at their first use, so that the command line starts fast.
_HOMES = {
    "Answer": "worker.asking",
    "App": "worker.app",
    "Backoff": "model.retry",
    "Button": "worker.messages",
    "Chat": "worker.chat",
    "ChatMessage": "worker.messages",
    "Client": "client",
    "Context": "worker.context",
    "Conversation": "worker.conversation",
    "Denied": "worker.outcomes",
    "GiveUp": "worker.outcomes",
    "Handle": "worker.handle",
    "HoldfastError": "errors",
    "InvalidAnswer": "worker.outcomes",
    "Join": "model.graphs",
    "NotApproved": "worker.outcomes",
    "OutgoingReply": "model.sessions",
    "Push": "model.effects",
    "Retry": "worker.outcomes",
    "RetryPolicy": "model.retry",
    "Submit": "model.effects",
    "SyncChat": "worker.sync_chat",
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

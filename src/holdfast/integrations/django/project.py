"""The app of a project, whose tasks use the connections of Django."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections
from typing_extensions import override

from holdfast.integrations.django import conf
from holdfast.worker.app import App
from holdfast.worker.task import Task


class DjangoApp(App):
    """An app whose tasks begin and end like requests: old database connections are closed."""

    @override
    def add(self, task: Task[Any, Any, Any]) -> Task[Any, Any, Any]:
        if not task.is_async:
            task.fn = _like_a_request(task.fn)
        return super().add(task)


def _like_a_request(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Drop connections of this thread that are broken or too old, before and after a call."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        close_old_connections()
        try:
            return fn(*args, **kwargs)
        finally:
            close_old_connections()

    return call


def new_app() -> DjangoApp:
    """Return an app for the store that the settings name."""
    chosen = conf.read()
    app = DjangoApp(chosen.store, settings=chosen.store_settings, key=chosen.key)

    @app.before
    async def _before(_ctx: object) -> None:
        """The async interface of models has one thread for all tasks, and its connections."""
        await sync_to_async(close_old_connections)()

    return app


#: The app of this project: `@app.task` in the `tasks.py` of any installed app.
app: DjangoApp = new_app()

"""Effects in the database of Django that happen exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, TypeVarTuple, overload

from django.apps import apps
from django.db import close_old_connections
from django.db import transaction as transactions

from holdfast.errors import InvalidInput
from holdfast.integrations.django import conf
from holdfast.integrations.effects import EffectStep
from holdfast.worker.context import Context
from holdfast.worker.sync_context import SyncContext

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


@overload
def transaction(ctx: Context, name: str, fn: Callable[[*Ts], R], *args: *Ts) -> Awaitable[R]: ...
@overload
def transaction(ctx: SyncContext, name: str, fn: Callable[[*Ts], R], *args: *Ts) -> R: ...
def transaction(  # type: ignore[misc]
    ctx: Any, name: str, fn: Callable[..., Any], *args: Any
) -> Any:
    """Run a function in a transaction of its own, once, and record its result as a step.

    What it wrote and the record of the step are committed together. If it raises, nothing is
    committed. The function is a plain one; an async task awaits it, and it runs in a thread.
    """
    step = _Step(ctx, name, fn)
    if isinstance(ctx, Context):

        async def run() -> Any:
            return await asyncio.to_thread(step.run_in_thread, args)

        return ctx.step(name, step.hinted(run))

    def run_blocking() -> Any:
        return step.run(args)

    return ctx.step(name, step.hinted(run_blocking))


class _Step(EffectStep):
    """A step that has a row."""

    def __init__(self, ctx: Context | SyncContext, name: str, fn: Callable[..., Any]) -> None:
        super().__init__(ctx, name, fn)
        self._fn = fn
        self._database = conf.read().database

    def run(self, args: tuple[Any, ...]) -> Any:
        """Run the function, unless an earlier attempt has committed its effect."""
        if transactions.get_connection(self._database).in_atomic_block:
            raise InvalidInput("a transaction is open here already; leave it before", field="name")
        try:
            with transactions.atomic(using=self._database):
                found = self._find()
                if found is None:
                    found = self.encode(self._fn(*args))
                    self._rows().create(**self.row(found))
                return self.decode(found)
        except Exception:
            # Of two attempts at the same time, one commits; the other takes its result.
            found = self._find()
            if found is None:
                raise
            return self.decode(found)

    def run_in_thread(self, args: tuple[Any, ...]) -> Any:
        """Run in a thread that may have an old connection."""
        close_old_connections()
        try:
            return self.run(args)
        finally:
            close_old_connections()

    def _find(self) -> bytes | None:
        found = self._rows().filter(key=self.key).values_list("result", flat=True).first()
        return None if found is None else bytes(found)

    def _rows(self) -> Any:
        return apps.get_model("holdfast", "Effect").objects.using(self._database)

"""The relay of an outbox that Django reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

from django.apps import apps
from django.db import Error, close_old_connections, transaction
from typing_extensions import override

from holdfast.integrations.django import conf
from holdfast.integrations.relaying import BATCH, OutboxRelay, relaying
from holdfast.worker.app import App

R = TypeVar("R")


class Relay(OutboxRelay):
    """Submits what the outbox holds, while `run` runs. Every worker of the project has one."""

    failures: ClassVar[tuple[type[Exception], ...]] = (Error,)

    def __init__(self, app: App) -> None:
        chosen = conf.read()
        super().__init__(app, chosen.database, chosen.relay_every)
        self._database = chosen.database
        # Connections of Django belong to threads: one thread, one connection.
        self._thread = ThreadPoolExecutor(1, "holdfast-outbox")

    @override
    async def _waiting(self) -> Sequence[tuple[str, bytes]]:
        return await self._run(self._read)

    @override
    async def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        await self._run(lambda: self._write(accepted, refused))

    def _read(self) -> list[tuple[str, bytes]]:
        waiting = self._entries().filter(refused=None).order_by("id")
        rows = waiting.values_list("id", "execution")[:BATCH]
        return [(entry_id, bytes(execution)) for entry_id, execution in rows]

    def _write(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        with transaction.atomic(using=self._database):
            self._entries().filter(id__in=accepted).delete()
            for entry_id, problem in refused.items():
                self._entries().filter(id=entry_id).update(refused=problem)

    def _entries(self) -> Any:
        return apps.get_model("holdfast", "OutboxEntry").objects.using(self._database)

    async def _run(self, work: Callable[[], R]) -> R:
        def connected() -> R:
            close_old_connections()
            try:
                return work()
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._thread, connected)


def relay(app: App) -> contextlib.AbstractAsyncContextManager[Relay]:
    """Run a relay in this process while the block runs, where no worker of the project does."""
    return relaying(app, Relay(app))

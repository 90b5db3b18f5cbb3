"""The relay: takes submissions from an outbox to Holdfast.

It reads entries, submits them, and deletes those that were accepted. A crash in between repeats the
submission, whose id or idempotency key makes it the same one. Any number of relays may run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import ClassVar, TypeVar

from holdfast.errors import (
    HoldfastError,
    InternalError,
    InvalidInput,
    OutcomeUnknown,
    Refused,
    StoreUnavailable,
)
from holdfast.integrations.outbox import decode
from holdfast.model.executions import NewExecution
from holdfast.outages import level
from holdfast.services import Supervisor
from holdfast.worker.app import App

log: logging.Logger = logging.getLogger(__name__)

#: How many entries go to Holdfast in one call.
BATCH = 100
DEFAULT_EVERY_S = 0.5
_PAUSE_AFTER_ERROR_S = 1.0
#: The same submission may succeed later. Every other error is final.
_PASSING = (Refused, StoreUnavailable, OutcomeUnknown, InternalError)


class OutboxRelay(ABC):
    """Submits what an outbox holds, while `run` runs. A service of workers."""

    #: What the library of the database raises when the database fails.
    failures: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, app: App, database: str, every_s: float) -> None:
        self._app = app
        self._every_s = every_s
        self.name: str = f"outbox:{database}"

    @abstractmethod
    async def _waiting(self) -> Sequence[tuple[str, bytes]]:
        """Return up to BATCH entries that were not refused, oldest first."""

    @abstractmethod
    async def _settle(self, accepted: Sequence[str], refused: Mapping[str, str]) -> None:
        """Remove the entries that were accepted, and write to the others why they were refused."""

    async def run(self) -> None:
        """Relay until cancelled."""
        while True:
            try:
                found = await self.move()
                pause_s = 0.0 if found == BATCH else self._every_s
            except HoldfastError as error:
                log.log(level(error), "submitting from the outbox failed: %s", error)
                pause_s = _PAUSE_AFTER_ERROR_S
            except self.failures as error:
                # The cause is the error of the driver, without the statement and its parameters.
                log.warning("the database of the outbox failed: %s", error.__cause__ or error)
                pause_s = _PAUSE_AFTER_ERROR_S
            await asyncio.sleep(pause_s)

    async def flush(self) -> None:
        """Submit everything that is in the outbox now."""
        while await self.move():
            pass

    async def move(self) -> int:
        """Submit up to a hundred entries, oldest first; return how many there were.

        Raises the first error that is not final; entries before and after it were submitted.
        """
        entries = await self._waiting()
        if not entries:
            return 0
        accepted, passing = [], None
        items, refused = _decoded(entries)
        for entry_id, error in zip(items, await self._submit(list(items.values())), strict=True):
            if error is None:
                accepted.append(entry_id)
            elif isinstance(error, _PASSING):
                passing = passing or error
            else:
                refused[entry_id] = f"{error.code}: {error}"
        for entry_id, problem in refused.items():
            log.error("entry %s of the outbox was refused: %s", entry_id, problem)
        await self._settle(accepted, refused)
        if passing is not None:
            raise passing
        return len(entries)

    async def _submit(self, items: Sequence[NewExecution]) -> list[HoldfastError | None]:
        answers = await self._app.engine.submit_many(items) if items else []
        return [answer if isinstance(answer, HoldfastError) else None for answer in answers]


def _decoded(
    entries: Sequence[tuple[str, bytes]],
) -> tuple[dict[str, NewExecution], dict[str, str]]:
    """Return the submissions, and what is wrong with entries that are none."""
    items, broken = {}, {}
    for entry_id, execution in entries:
        try:
            items[entry_id] = decode(execution)
        except InvalidInput as error:
            broken[entry_id] = f"{error.code}: {error}"
    return items, broken


AnyRelay = TypeVar("AnyRelay", bound=OutboxRelay)


@contextlib.asynccontextmanager
async def relaying(app: App, service: AnyRelay) -> AsyncIterator[AnyRelay]:
    """Run a relay in this process while the block runs."""
    async with app:
        supervisor = Supervisor()
        supervisor.start(service)
        try:
            yield service
        finally:
            await supervisor.close()

"""The bulk runner: carries bulk actions out, page by page.

It records a page before it acts on it. Each action has the id of the bulk action as its request,
which an execution carries out once. So a runner that takes over after a crash repeats the last page
without a second effect and gets the same answers, and its counts are right.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from dataclasses import replace
from datetime import timedelta

import msgspec

from holdfast.concurrency import stop
from holdfast.engine.courier import Courier
from holdfast.engine.executions import Executions
from holdfast.errors import (
    Conflict,
    HoldfastError,
    InvalidInput,
    InvalidRecord,
    LeaseLost,
    NotFound,
)
from holdfast.model import checks
from holdfast.model.bulk import KIND, LANE, Bulk, BulkAction, Errand, Refusal
from holdfast.model.claims import Claimant
from holdfast.model.executions import Claim, Failure
from holdfast.model.names import stored_id
from holdfast.model.resubmissions import Resubmission
from holdfast.outages import level
from holdfast.store.store import Store

log: logging.Logger = logging.getLogger(__name__)

#: A page takes about a second; another runner takes over after this time.
LEASE_MS = 5_000
_AT_ONCE = 4
#: Claims are announced; this bounds how long a lost announcement can go unnoticed.
POLL_S = 15.0
#: Executions of the same millisecond are as old as the bulk action.
_BIRTH = timedelta(milliseconds=1)
#: Errors that are an answer about an execution. After others, the page is repeated.
_ANSWERS = (Conflict, NotFound, InvalidInput, InvalidRecord)


class BulkRunner:
    """Carries bulk actions out for as long as it runs."""

    name = "bulk"

    def __init__(self, store: Store, executions: Executions, courier: Courier) -> None:
        self._store = store
        self._records = store.bulk
        self._executions = executions
        self._courier = courier

    async def run(self) -> None:
        """Carry bulk actions out until cancelled."""
        worker = f"{self.name}.{socket.gethostname()}.{os.getpid()}"
        claimant = Claimant(worker=worker, lanes=(LANE,), kinds=(KIND,))
        running: set[asyncio.Task[None]] = set()
        async with self._executions.open_claimer(claimant, poll_s=POLL_S) as claimer:
            try:
                while True:
                    free = _AT_ONCE - len(running)
                    claims = await claimer.claim(free, LEASE_MS, int(POLL_S * 1000))
                    running |= {asyncio.create_task(self.carry_out(claim)) for claim in claims}
                    if len(running) == _AT_ONCE:
                        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    running = {task for task in running if not task.done()}
            finally:
                await stop(*running)

    async def carry_out(self, claim: Claim) -> None:
        """Carry a bulk action out until it is over, aborted or interrupted."""
        try:
            try:
                version, bulk = await self._read(claim)
            except (NotFound, InvalidInput) as error:
                failure = Failure(type=type(error).__name__, message=str(error), retryable=False)
                await self._executions.fail(claim.id, claim.lease, failure)
                return
            bulk = await self._finish(claim, version, bulk)
            await self._executions.complete(claim.id, claim.lease, _outcome(bulk))
        except asyncio.CancelledError:
            with contextlib.suppress(HoldfastError):
                # Another process continues at once.
                await self._executions.delay(claim.id, claim.lease, 0)
            raise
        except LeaseLost as error:
            log.info(
                "bulk action %s was aborted, or another process continues it: %s", claim.id, error
            )
        except HoldfastError as error:
            # Its lease ends, and a runner continues.
            log.log(level(error), "bulk action %s was interrupted: %s", claim.id, error)

    async def _read(self, claim: Claim) -> tuple[str, Bulk]:
        """Return the record of an execution; every client can submit one of this kind."""
        try:
            errand = msgspec.json.decode(claim.input, type=Errand)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            message = f"input: is not that of a bulk action ({error})"
            raise InvalidInput(message, field="input") from error
        if stored_id(claim.tenant, errand.bulk) != claim.id:
            checks.refuse("input", "must name the bulk action of this execution", errand.bulk)
        return await self._records.read(claim.tenant, errand.bulk)

    async def _finish(self, claim: Claim, version: str, bulk: Bulk) -> Bulk:
        while not bulk.is_over:
            # The lease is gone if somebody has aborted it.
            (renewed,) = await self._executions.renew([(claim.id, claim.lease)], LEASE_MS)
            if isinstance(renewed, HoldfastError):
                raise renewed
            pause = asyncio.create_task(asyncio.sleep(len(bulk.pending) / bulk.rate))
            try:
                bulk = bulk.acted(await self._act_on_page(bulk))
                if not bulk.is_last:
                    bulk = await self._turn(claim, bulk)
                version = await self._records.write(bulk, version)
                await self._executions.progress(claim.id, claim.lease, bulk.pct, bulk.summary)
                await pause
            finally:
                await stop(pause)
        return bulk

    async def _turn(self, claim: Claim, bulk: Bulk) -> Bulk:
        """Find the next page, among executions that are older than the bulk action."""
        born = claim.created_at + _BIRTH
        until = bulk.wanted.until
        wanted = replace(bulk.wanted, until=born if until is None else min(born, until))
        queries = self._store.queries
        page = await queries.list_executions(wanted, bulk.page_size, bulk.cursor)
        return bulk.turned(
            [one.id for one in page.items if not bulk.made(one.id)], page.next_cursor
        )

    async def _act_on_page(self, bulk: Bulk) -> list[Refusal]:
        answers = await asyncio.gather(*(self._act(bulk, one) for one in bulk.pending))
        return [answer for answer in answers if answer is not None]

    async def _act(self, bulk: Bulk, execution_id: str) -> Refusal | None:
        executions = self._store.executions
        try:
            match bulk.action:
                case BulkAction.CANCEL:
                    await executions.cancel(execution_id, bulk.note, bulk.id)
                    self._courier.poke(self._store.tag_of(execution_id))
                case BulkAction.REPLAY:
                    await executions.replay(
                        execution_id,
                        keep_steps=False,
                        from_step="",
                        reason=bulk.note,
                        request=bulk.id,
                    )
                case BulkAction.PRIORITIZE:
                    await executions.prioritize(execution_id, bulk.priority or 0, bulk.id)
                case BulkAction.RESUBMIT:
                    copy = Resubmission(id=bulk.copy_id(execution_id))
                    await self._executions.resubmit(execution_id, copy)
        except _ANSWERS as error:
            return Refusal(id=execution_id, code=error.code, message=error.message)
        return None


def _outcome(bulk: Bulk) -> bytes:
    counts = {"done": bulk.done, "refused": bulk.refused, "refusals": bulk.refusals}
    return msgspec.json.encode(
        {"bulk": bulk.id, "action": bulk.action, **counts, "refused_items": bulk.refused_items}
    )

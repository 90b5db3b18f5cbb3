"""Executions: every operation, checked at its entry."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from typing_extensions import override

from holdfast import api
from holdfast.api import Beats
from holdfast.api.executions import DEFAULT_LEASE_MS
from holdfast.engine.admission import Admission
from holdfast.engine.claimer import POLL_S, Claimer
from holdfast.engine.courier import Courier
from holdfast.engine.explaining import Explainer
from holdfast.engine.live import Live
from holdfast.engine.payloads import Payloads
from holdfast.engine.results import Results
from holdfast.errors import HoldfastError, InvalidInput
from holdfast.model import bounds, calls, checks, references
from holdfast.model.calls import Completion, Replay
from holdfast.model.causes import Cause
from holdfast.model.claims import Claimant
from holdfast.model.executions import (
    Attempt,
    Event,
    Execution,
    Failure,
    Lease,
    NewExecution,
    Outcome,
    Step,
    Submitted,
)
from holdfast.model.explanations import Explanation
from holdfast.model.exports import Exported
from holdfast.model.frames import NewFrame, check_last
from holdfast.model.inboxes import ExecutionSignal, Receipt
from holdfast.model.listing import Count, Listing, Page
from holdfast.model.moments import to_ms
from holdfast.model.resubmissions import Resubmission
from holdfast.model.states import State
from holdfast.model.views import View, check_view
from holdfast.model.waitpoints import Effect, Signal
from holdfast.store.declarations import blamed
from holdfast.store.store import Store
from holdfast.store.valkey.blocking import BlockingStore


class Executions(api.Executions):
    """Executions on an open store."""

    def __init__(
        self, store: Store, payloads: Payloads, admission: Admission, courier: Courier
    ) -> None:
        self._store = store
        self._payloads = payloads
        self._admission = admission
        self._courier = courier
        self._results = Results(store, payloads)
        self._live = Live(store)
        self._explainer = Explainer(store)

    async def close(self) -> None:
        """Stop listening for results, signals and views."""
        await self._results.close()
        await self._live.close()

    # Submitting

    @override
    async def submit(self, /, kind: str, **fields: Any) -> Submitted:
        item = NewExecution.from_fields({"kind": kind, **fields})
        (answer,) = await self.submit_many([item])
        if isinstance(answer, HoldfastError):
            raise answer
        return answer

    @override
    async def resubmit(self, execution_id: str, changes: Resubmission | None = None) -> Submitted:
        changes = checks.instance("changes", changes or Resubmission(), Resubmission)
        origin = await self.describe(execution_id)
        payload = await self.input(execution_id) if changes.input is None else changes.input
        return await self.submit(**changes.fields(origin, payload))

    async def check_limits(self, items: Iterable[NewExecution]) -> None:
        """Raise BudgetNotFound or QuotaNotFound unless all limits that the items name exist."""
        await asyncio.gather(*(self._store.attach(item) for item in items))

    @override
    async def submit_many(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        checks.integer("number of items", len(items), 0, bounds.BATCH_ITEMS)
        is_complete = True
        for number, item in enumerate(items):
            checks.instance(f"items[{number}]", item, NewExecution)
            is_complete = is_complete and not (item.unset or item.check)
        if is_complete:
            return await self._create(items)
        completed = await self._store.declarations.complete(items)
        good = [item for item in completed if isinstance(item, NewExecution)]
        made = iter(await self._create(good))
        answers = [item if isinstance(item, InvalidInput) else next(made) for item in completed]
        return [
            blamed(item, answer) if isinstance(answer, HoldfastError) else answer
            for item, answer in zip(items, answers, strict=True)
        ]

    async def _create(self, items: Sequence[NewExecution]) -> list[Submitted | HoldfastError]:
        async with self._payloads.stored_inputs(items) as stored:
            return await self._store.executions.create(stored)

    # Running

    @override
    def _claimer(self, claimant: Claimant) -> contextlib.AbstractAsyncContextManager[Claimer]:
        return self.open_claimer(claimant)

    @contextlib.asynccontextmanager
    async def open_claimer(
        self, claimant: Claimant, *, poll_s: float = POLL_S
    ) -> AsyncIterator[Claimer]:
        """Open a claimer that asks all partitions this often, in case it missed a wake-up."""
        claimer = Claimer(self._store, self._admission, self._payloads, claimant, poll_s)
        await claimer.open()
        try:
            yield claimer
        finally:
            await claimer.close()

    @override
    def beats(self, *, timeout_s: float) -> Beats:
        return BlockingStore(self._store, timeout_s=timeout_s)

    @override
    async def renew(
        self, held: Sequence[tuple[str, Lease]], lease_ms: int = DEFAULT_LEASE_MS
    ) -> list[datetime | HoldfastError]:
        calls.check_renewal(held, lease_ms)
        return await self._store.leases.renew(held, lease_ms)

    @override
    async def complete(
        self,
        execution_id: str,
        lease: Lease,
        result: bytes = b"null",
        *,
        content_type: str | None = None,
        frames: Sequence[NewFrame] = (),
    ) -> None:
        calls.check_holder(execution_id, lease)
        calls.check_result(result, content_type)
        references.check_is_none("result", result)
        if frames:
            check_last(frames)
        if len(result) > references.LEAST_BYTES:
            result = await self._payloads.store_result(execution_id, result)
        await self._store.executions.complete(
            execution_id, lease, result, content_type or "", frames
        )
        self._admission.ended(execution_id, lease)

    async def complete_many(self, items: Sequence[Completion]) -> list[HoldfastError | None]:
        """End executions with their results: None or an error for each, in order."""
        stored = [await self._stored(item) for item in items]
        good = [item for item in stored if isinstance(item, Completion)]
        ended = iter(await self._store.executions.complete_many(good))
        answers = [next(ended) if isinstance(item, Completion) else item for item in stored]
        for item, answer in zip(items, answers, strict=True):
            if answer is None:
                self._admission.ended(item.execution_id, item.lease)
        return answers

    async def _stored(self, item: Completion) -> Completion | HoldfastError:
        """Return an item with its result in stored form, or why it is refused."""
        try:
            item.check()
            if len(item.result) <= references.LEAST_BYTES:
                return item
            result = await self._payloads.store_result(item.execution_id, item.result)
        except HoldfastError as error:
            return error
        return item._replace(result=result)

    @override
    async def fail(
        self, execution_id: str, lease: Lease, failure: Failure
    ) -> tuple[State, datetime | None]:
        calls.check_holder(execution_id, lease)
        calls.check_failure(failure)
        answer = await self._store.executions.fail(execution_id, lease, failure)
        self._admission.ended(execution_id, lease)
        return answer

    @override
    async def delay(self, execution_id: str, lease: Lease, delay_ms: int) -> tuple[State, datetime]:
        calls.check_holder(execution_id, lease)
        checks.integer("delay_ms", delay_ms, 0, bounds.DURATION_MS)
        answer = await self._store.executions.delay(execution_id, lease, delay_ms)
        self._admission.ended(execution_id, lease)
        return answer

    @override
    async def progress(
        self, execution_id: str, lease: Lease, pct: float, message: str = ""
    ) -> None:
        calls.check_holder(execution_id, lease)
        calls.check_progress(pct, message)
        await self._store.executions.progress(execution_id, lease, pct, message)

    @override
    async def checkpoint(self, execution_id: str, lease: Lease, name: str, result: bytes) -> bytes:
        calls.check_holder(execution_id, lease)
        calls.check_step(name, result)
        return await self._store.executions.checkpoint(execution_id, lease, name, result)

    @override
    async def continue_as(
        self, execution_id: str, lease: Lease, new_input: bytes, *, continued: int
    ) -> None:
        calls.check_holder(execution_id, lease)
        references.check_is_none("input", checks.payload("input", new_input))
        checks.integer("continued", continued, 0, bounds.AMOUNT)
        await self._store.executions.continue_as(execution_id, lease, new_input, continued)

    # Operating

    @override
    async def cancel(self, execution_id: str, reason: str = "") -> None:
        calls.check_reasoned(execution_id, reason)
        await self._store.executions.cancel(execution_id, reason)
        self._courier.poke(self._store.tag_of(execution_id))

    @override
    async def _replay(self, replay: Replay) -> State:
        return await self._store.executions.replay(
            replay.execution_id,
            keep_steps=replay.keep_steps,
            from_step=replay.from_step or "",
            reason=replay.reason,
        )

    @override
    async def revoke_lease(self, execution_id: str, reason: str = "") -> None:
        calls.check_reasoned(execution_id, reason)
        await self._store.leases.revoke(execution_id, reason)
        self._courier.poke(self._store.tag_of(execution_id))

    @override
    async def prioritize(self, execution_id: str, priority: int) -> int:
        calls.check_priority(execution_id, priority)
        return await self._store.executions.prioritize(execution_id, priority)

    # Signals and views

    @override
    async def _signal(self, item: ExecutionSignal) -> Effect:
        return await self._store.inboxes.send(item)

    @override
    async def _receive(self, receipt: Receipt, timeout_s: float) -> Signal | None:
        return await self._live.receive(receipt, timeout_s)

    @override
    async def _await_signal(self, receipt: Receipt, until: datetime | None) -> Signal | None:
        signal = await self._live.wait(receipt, None if until is None else to_ms(until))
        if signal is None:
            self._admission.ended(receipt.execution_id, receipt.lease)
        return signal

    @override
    async def set_view(self, execution_id: str, lease: Lease, data: bytes) -> int:
        calls.check_holder(execution_id, lease)
        return await self._store.views.put(execution_id, lease, check_view(data))

    @override
    async def view(self, execution_id: str, *, after: int = 0, timeout_s: float = 0.0) -> View:
        calls.check_view_request(execution_id, after, timeout_s)
        return await self._live.view(execution_id, after, timeout_s)

    # Asking

    @override
    async def describe(self, execution_id: str) -> Execution:
        return await self._store.queries.describe(_id(execution_id))

    @override
    async def owner(self, execution_id: str) -> str:
        return await self._store.queries.owner(_id(execution_id))

    @override
    async def input(self, execution_id: str) -> bytes:
        return await self._payloads.input(_id(execution_id))

    @override
    async def history(self, execution_id: str) -> list[Event]:
        return await self._store.queries.history(_id(execution_id))

    @override
    async def attempts(self, execution_id: str) -> list[Attempt]:
        return await self._store.queries.attempts(_id(execution_id))

    @override
    async def steps(self, execution_id: str) -> list[Step]:
        return await self._store.queries.steps(_id(execution_id))

    @override
    async def outcome(self, execution_id: str) -> Outcome | None:
        return await self._results.outcome(_id(execution_id))

    @override
    async def wait(self, execution_id: str, *, timeout_s: float | None = None) -> Outcome:
        calls.check_patience(timeout_s)
        return await self._results.wait(_id(execution_id), timeout_s)

    @override
    async def export(self, execution_id: str) -> Exported:
        return await self._payloads.open_export(
            await self._store.archives.export(_id(execution_id))
        )

    @override
    async def _list(self, listing: Listing) -> Page:
        wanted, limit, cursor = listing.wanted, listing.limit, listing.cursor
        queries = self._store.queries
        if listing.total:
            page, count = await asyncio.gather(
                queries.list_executions(wanted, limit, cursor), queries.total(wanted)
            )
            page = replace(page, total=count)
        else:
            page = await queries.list_executions(wanted, limit, cursor)
        return replace(page, whys=await self._explainer.whys(page.items)) if listing.whys else page

    @override
    async def count(self, tenant: str | None = None) -> Sequence[Count]:
        if tenant is not None:
            checks.name("tenant", tenant)
        return await self._store.queries.count(tenant)

    @override
    async def causes(
        self,
        *,
        tenant: str | None = None,
        kind: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[Cause]:
        calls.check_causes(tenant, kind, since, until)
        return await self._store.queries.causes(tenant=tenant, kind=kind, since=since, until=until)

    @override
    async def explain(self, execution_id: str) -> Explanation:
        return await self._explainer.one(_id(execution_id))


def _id(execution_id: str) -> str:
    return checks.execution_id("id", execution_id)

"""Bulk actions of a store: every operation, checked at its entry."""

from __future__ import annotations

import asyncio
import builtins
from dataclasses import replace
from datetime import UTC, datetime
from typing import final

from typing_extensions import override

from holdfast.api import bulk
from holdfast.engine.executions import Executions
from holdfast.errors import (
    AlreadyTerminal,
    BulkConflict,
    BulkNotFound,
    ExecutionNotFound,
    HoldfastError,
    SelectionChanged,
    VersionConflict,
)
from holdfast.model import bounds, checks
from holdfast.model.bulk import SAMPLE, Bulk, NewBulk, Preview, begun, errand_of
from holdfast.model.names import DEFAULT_TENANT
from holdfast.model.states import State
from holdfast.store import actors
from holdfast.store.store import Store

#: Bulk actions that the store remembers for a tenant, and how many it forgets at once at most.
_REMEMBERED = 100


@final
class BulkActions(bulk.BulkActions):
    """Operations on bulk actions."""

    def __init__(self, store: Store, executions: Executions) -> None:
        self._store = store
        self._records = store.bulk
        self._executions = executions

    @override
    async def preview(self, new: NewBulk) -> Preview:
        matching = checks.instance("new", new, NewBulk).matching
        total, page = await asyncio.gather(
            self._store.queries.total(matching),
            self._store.queries.list_executions(matching, SAMPLE, None),
        )
        return Preview(total=total, sample=page.items)

    @override
    async def start(self, new: NewBulk) -> Bulk:
        checks.instance("new", new, NewBulk)
        try:
            _, known = await self._records.read(new.tenant, new.id)
        except BulkNotFound:
            known = await self._create(new)
        if not _is_same(known, new):
            message = f"another bulk action of tenant {new.tenant} has the id {new.id}"
            raise BulkConflict(message, id=new.id)
        (answer,) = await self._store.executions.create([errand_of(known)])
        if isinstance(answer, HoldfastError):
            raise answer
        return replace(known, state=answer.state)

    async def _create(self, new: NewBulk) -> Bulk:
        total = await self._store.queries.total(new.matching)
        if not new.fits(total):
            message = f"{total} executions match, not {new.expected:,}: look again"
            raise SelectionChanged(message, count=total.count, expected=new.expected)
        await self._forget_oldest(new.tenant)
        made = begun(new, total, actors.current(), datetime.now(UTC))
        try:
            await self._records.write(made)
        except VersionConflict:
            # The same call, sent twice, or another one with the same id.
            _, made = await self._records.read(new.tenant, new.id)
        return made

    async def _forget_oldest(self, tenant: str) -> None:
        """Make room for one more: forget ended bulk actions, the oldest first."""
        names = [name async for name in self._records.names(tenant)]
        if len(names) < _REMEMBERED:
            return
        known = sorted(await self._read(names), key=lambda one: one.started_at)
        for one in [one for one in known if one.state.is_terminal][: len(names) + 1 - _REMEMBERED]:
            await self._records.forget(one)

    @override
    async def get(self, bulk_id: str, *, tenant: str | None = None) -> Bulk:
        owner = checks.name("tenant", DEFAULT_TENANT if tenant is None else tenant)
        _, found = await self._records.read(owner, checks.name("id", bulk_id))
        return await self._now(found)

    @override
    async def list(self, *, tenant: str | None = None) -> builtins.list[Bulk]:
        if tenant is not None:
            checks.name("tenant", tenant)
        names = [name async for name in self._records.names(tenant)]
        found = await self._read(names)
        newest = sorted(found, key=lambda one: one.started_at, reverse=True)
        return newest[:_REMEMBERED]

    @override
    async def abort(self, bulk_id: str, *, tenant: str | None = None, reason: str = "") -> Bulk:
        checks.text("reason", reason, bounds.REASON_CHARS)
        found = await self.get(bulk_id, tenant=tenant)
        if found.state is State.CANCELLED:
            return found
        try:
            await self._executions.cancel(found.execution, reason)
        except ExecutionNotFound as error:
            message = f"bulk action {bulk_id} is {found.state}"
            raise AlreadyTerminal(message, id=bulk_id, state=found.state) from error
        return await self.get(bulk_id, tenant=tenant)

    async def _read(self, names: builtins.list[tuple[str, str]]) -> builtins.list[Bulk]:
        return [
            found
            for found in await asyncio.gather(*(self._one(*name) for name in names))
            if found is not None
        ]

    async def _one(self, tenant: str, bulk_id: str) -> Bulk | None:
        try:
            return await self.get(bulk_id, tenant=tenant)
        except BulkNotFound:
            return None

    async def _now(self, found: Bulk) -> Bulk:
        """Return a bulk action with the state of its execution."""
        try:
            execution = await self._executions.describe(found.execution)
        except ExecutionNotFound:
            # Its execution has been removed or archived, so it has ended, one way or the other.
            return replace(found, state=State.COMPLETED if found.is_over else State.CANCELLED)
        return replace(found, state=execution.state)


def _is_same(known: Bulk, new: NewBulk) -> bool:
    seen = (known.action, known.wanted, known.priority)
    return seen == (new.action, new.matching, new.priority)

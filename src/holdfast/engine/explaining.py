"""Finds out why executions are not running: one in detail, or a page of them in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.concurrency import stop
from holdfast.engine.explain import CONVERSING, explain, lacks_task, with_bonds
from holdfast.engine.limit_holds import blocking_limit, holder_holds, longest_holder
from holdfast.errors import SessionNotFound
from holdfast.model.budgets import Budget
from holdfast.model.executions import Execution
from holdfast.model.explanations import Explanation
from holdfast.model.quotas import Quota
from holdfast.model.session_keys import session_of
from holdfast.model.sessions import Session
from holdfast.model.states import State
from holdfast.model.workers import Worker
from holdfast.store.queries import ExplainFacts
from holdfast.store.store import Store

#: Only these depend on more than their own record: their place in line, or their upstreams.
_IN_LINE = frozenset({State.WAITING, State.WAITING_CHILDREN})

#: The limits that hold the executions of a page back, each read once.
_Limits = dict[tuple[str, str | None, str | None], asyncio.Future[Budget | Quota | None]]


class Explainer:
    """Explains executions of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def one(self, execution_id: str) -> Explanation:
        """Explain an execution."""
        workers = asyncio.ensure_future(self._store.workers.list())
        try:
            facts = await self._store.queries.explain_facts(execution_id)
            limit = await blocking_limit(self._store, facts.execution)
            found = await self._explained(facts, workers, limit)
            return await self._with_holder(found, facts.execution, limit)
        finally:
            await stop(workers)

    async def whys(self, executions: Sequence[Execution]) -> Mapping[str, str]:
        """Return the sentence for each that has not ended.

        Their places in line are read in one call for each partition, and each limit once.
        """
        living = [execution for execution in executions if not execution.state.is_terminal]
        if not living:
            return {}
        workers = asyncio.ensure_future(self._store.workers.list())
        limits: _Limits = {}
        try:
            in_line = [execution.id for execution in living if execution.state in _IN_LINE]
            facts = await self._store.queries.explain_page(in_line)
            return dict(
                await asyncio.gather(
                    *(
                        self._why(facts.get(one.id) or _facts_of(one), workers, limits)
                        for one in living
                        if one.id in facts or one.state not in _IN_LINE
                    )
                )
            )
        finally:
            await stop(workers, *limits.values())

    async def _why(
        self, facts: ExplainFacts, workers: Awaitable[list[Worker]], limits: _Limits
    ) -> tuple[str, str]:
        execution = facts.execution
        key = (execution.tenant, execution.hold, execution.blocked_by)
        if key not in limits:
            limits[key] = asyncio.ensure_future(blocking_limit(self._store, execution))
        return execution.id, (await self._explained(facts, workers, await limits[key])).why

    async def _explained(
        self,
        facts: ExplainFacts,
        live_workers: Awaitable[list[Worker]],
        limit: Budget | Quota | None,
    ) -> Explanation:
        execution = facts.execution
        wait, session = None, None
        if execution.hold in CONVERSING:
            session = await self._session_of(execution.id)
        elif execution.state is State.SUSPENDED:
            _, wait = await self._store.waitpoints.of(execution.id)
        workers = await live_workers
        tasks = {}
        if lacks_task(facts, workers):
            tasks = await self._store.tasks.list(execution.tenant)
        found = explain(facts, workers, wait=wait, session=session, limit=limit, tasks=tasks)
        return with_bonds(found, execution)

    async def _with_holder(
        self, found: Explanation, execution: Execution, limit: Budget | Quota | None
    ) -> Explanation:
        """Add who holds the slot of a full quota, and on which worker."""
        if not isinstance(limit, Quota):
            return found
        holder = await longest_holder(self._store, execution, limit)
        if holder is None:
            return found
        return replace(found, holds=[*found.holds, *holder_holds(holder)])

    async def _session_of(self, execution_id: str) -> Session | None:
        session_id = session_of(execution_id)
        if session_id is None:
            return None
        try:
            return (await self._store.sessions.read(session_id)).session
        except SessionNotFound:
            return None


def _facts_of(execution: Execution) -> ExplainFacts:
    """Return the facts of an execution that stands in no line: its own record says all."""
    now = datetime.now(UTC)
    return ExplainFacts(now=now, execution=execution, lane_setting=None, ahead=None)

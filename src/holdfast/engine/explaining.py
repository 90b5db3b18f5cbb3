"""Finds out why executions are not running: one in detail, or a page of them in one round trip."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime

from holdfast.concurrency import stop
from holdfast.engine.explain import CONVERSING, explain, lacks_task, with_bonds
from holdfast.engine.limit_holds import blocking_limit
from holdfast.errors import ExecutionNotFound, SessionNotFound
from holdfast.model.executions import Execution
from holdfast.model.explanations import Explanation
from holdfast.model.session_keys import session_of
from holdfast.model.sessions import Session
from holdfast.model.states import State
from holdfast.model.workers import Worker
from holdfast.store.queries import ExplainFacts
from holdfast.store.store import Store

#: Only these depend on more than their own record: their place in line, or their upstreams.
_IN_LINE = frozenset({State.WAITING, State.WAITING_CHILDREN})


class Explainer:
    """Explains executions of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def one(self, execution_id: str) -> Explanation:
        """Explain an execution."""
        workers = asyncio.ensure_future(self._store.workers.list())
        try:
            facts = await self._store.queries.explain_facts(execution_id)
            return await self._explained(facts, workers)
        finally:
            await stop(workers)

    async def whys(self, executions: Sequence[Execution]) -> Mapping[str, str]:
        """Return the sentence for each that has not ended; all reads travel together."""
        living = [execution for execution in executions if not execution.state.is_terminal]
        if not living:
            return {}
        workers = asyncio.ensure_future(self._store.workers.list())
        try:
            found = await asyncio.gather(*(self._why(execution, workers) for execution in living))
        finally:
            await stop(workers)
        pairs = zip(living, found, strict=True)
        return {execution.id: why for execution, why in pairs if why is not None}

    async def _why(self, execution: Execution, workers: Awaitable[list[Worker]]) -> str | None:
        try:
            if execution.state in _IN_LINE:
                facts = await self._store.queries.explain_facts(execution.id)
            else:
                now = datetime.now(UTC)
                facts = ExplainFacts(now=now, execution=execution, lane_setting=None, ahead=None)
            return (await self._explained(facts, workers)).why
        except ExecutionNotFound:
            return None

    async def _explained(
        self, facts: ExplainFacts, live_workers: Awaitable[list[Worker]]
    ) -> Explanation:
        execution = facts.execution
        wait, session = None, None
        if execution.hold in CONVERSING:
            session = await self._session_of(execution.id)
        elif execution.state is State.SUSPENDED:
            _, wait = await self._store.waitpoints.of(execution.id)
        limit = await blocking_limit(self._store, execution)
        workers = await live_workers
        tasks = {}
        if lacks_task(facts, workers):
            tasks = await self._store.tasks.list(execution.tenant)
        found = explain(facts, workers, wait=wait, session=session, limit=limit, tasks=tasks)
        return with_bonds(found, execution)

    async def _session_of(self, execution_id: str) -> Session | None:
        session_id = session_of(execution_id)
        if session_id is None:
            return None
        try:
            return (await self._store.sessions.read(session_id)).session
        except SessionNotFound:
            return None

"""Waiting for the end of executions: told by the store, with a slow poll behind it."""

from __future__ import annotations

import asyncio

from holdfast.engine.mailboxes import Mailboxes, news_or_poll
from holdfast.errors import ExecutionFailed, ResultNotReady
from holdfast.model.executions import JSON_CONTENT_TYPE, ExecutionId, Outcome
from holdfast.model.states import State
from holdfast.store import decode
from holdfast.store.store import Store

POLL_S = 5.0


class Results:
    """Outcomes of executions, for all waiters of a process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mailboxes = Mailboxes(store)

    async def close(self) -> None:
        """Stop listening."""
        await self._mailboxes.close()

    async def outcome(self, execution_id: str) -> Outcome | None:
        """Return how an execution ended, or None if it has not."""
        return await self._look(execution_id, process="")

    async def wait(self, execution_id: str, timeout_s: float | None) -> Outcome:
        """Wait for the end; raises ResultNotReady when the time is over."""
        outcome = await self.outcome(execution_id)
        if outcome is not None:
            return outcome
        process = self._mailboxes.process
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._mailboxes.waiter(execution_id) as ended,
            ):
                while True:
                    outcome = await self._look(execution_id, process=process)
                    if outcome is not None:
                        return outcome
                    await news_or_poll(ended, POLL_S)
        except TimeoutError:
            message = f"execution {execution_id} has not ended within {timeout_s} s"
            raise ResultNotReady(message, id=execution_id) from None

    async def _look(self, execution_id: str, *, process: str) -> Outcome | None:
        state, *ending = await self._store.executions.watch(execution_id, process)
        if not ending:
            return None
        result, content_type, last_entry = ending
        entry = decode.entry(last_entry)
        completed = state == b"completed"
        return Outcome(
            id=ExecutionId(execution_id),
            state=State(state.decode()),
            result=result if completed else None,
            content_type=content_type.decode() or JSON_CONTENT_TYPE,
            error=entry.get("error"),
            reason=entry.get("reason") or None,
        )


def result_of(outcome: Outcome) -> bytes:
    """Return the result, or raise ExecutionFailed if there is none."""
    if outcome.result is not None:
        return outcome.result
    error = outcome.error or {}
    why = error.get("message") or outcome.reason
    message = f"execution {outcome.id} ended as {outcome.state}"
    raise ExecutionFailed(
        f"{message}: {why}" if why else message,
        id=outcome.id,
        state=outcome.state,
        error=error,
    )

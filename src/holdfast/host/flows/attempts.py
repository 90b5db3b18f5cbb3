"""Runs the step of a node until it succeeds or may not be tried again."""

from __future__ import annotations

from typing import Any

from holdfast.host.flows.acting import Actor
from holdfast.host.flows.model import FlowNode, Llm, Retry
from holdfast.host.flows.pens import Pen
from holdfast.host.flows.runners import NodeFailed
from holdfast.host.flows.stages import Stage

_ONCE = Retry(max_attempts=1)


class Attempts:
    """The attempts at one run of a node."""

    def __init__(self, actor: Actor, stage: Stage, node: FlowNode) -> None:
        self._actor = actor
        self._stage = stage
        self._node = node
        #: How many entries of the journal they took, beside the first.
        self.steps = 0

    async def run(self, scope: dict[str, Any]) -> dict[str, Any]:
        """Return the outcome of the last attempt; raises NodeFailed."""
        action = self._node.action
        if not isinstance(action, Llm):
            return await self._run(scope, None)
        self.steps += 2 if action.reply else 0
        # The words of a model are shown while it writes.
        async with self._stage.pen(self._node.id, reply=action.reply) as pen:
            outcome = await self._run(scope, pen)
            pen.text = str(outcome["ok"].get("text", ""))
        return outcome

    async def _run(self, scope: dict[str, Any], pen: Pen | None) -> dict[str, Any]:
        retry = self._node.retry or _ONCE
        attempt = 1
        while True:
            outcome = await self._actor.run(attempt, scope, pen)
            if "error" not in outcome:
                return outcome
            error = outcome["error"]
            if not error["retryable"] or attempt >= retry.max_attempts:
                raise NodeFailed(
                    error["code"],
                    error["message"],
                    retryable=error["retryable"],
                    retry_after_ms=error["retry_after_ms"],
                    details=error["details"],
                )
            await self._stage.sleep(delay_ms(retry, attempt, error["retry_after_ms"]))
            if pen is not None:
                await pen.restart()
            attempt += 1
            self.steps += 2


def delay_ms(retry: Retry, attempt: int, retry_after_ms: int) -> int:
    """Return how long to wait after an attempt that failed."""
    longest = max(retry.max_ms, retry.initial_ms)
    delay: int = retry.initial_ms * retry.factor ** (attempt - 1)
    return max(min(longest, delay), retry_after_ms)

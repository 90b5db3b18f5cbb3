"""The picture of an execution: everything about it, read together."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from holdfast.model.executions import Attempt, Event, Execution, Outcome, Step
from holdfast.model.explanations import Explanation
from holdfast.model.listing import Filter, Page
from holdfast.operate import timeline
from holdfast.operate.timeline import Timeline

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.exports import Exported

#: The most children in a picture; a list has all of them.
MOST_CHILDREN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Everything about an execution."""

    execution: Execution
    explanation: Explanation
    input: bytes
    outcome: Outcome | None
    attempts: list[Attempt]
    steps: list[Step]
    history: list[Event]
    #: Its newest children.
    children: Page
    #: Whether it comes from the archive, because the store no longer has it.
    archived: bool = False

    def timeline(self, now: datetime | None = None) -> Timeline:
        """Return the attempts and steps of the execution on one time scale."""
        moment = now or datetime.now(UTC)
        return timeline.of(self.attempts, self.execution.created_at, moment, self.steps)


async def take(engine: Engine, execution_id: str) -> Picture:
    """Read everything about an execution in the store; raise ExecutionNotFound if absent."""
    execution, explanation, data, outcome = await asyncio.gather(
        engine.describe(execution_id),
        engine.explain(execution_id),
        engine.input(execution_id),
        engine.outcome(execution_id),
    )
    attempts, steps, history, children = await asyncio.gather(
        engine.attempts(execution_id),
        engine.steps(execution_id),
        engine.history(execution_id),
        engine.list(Filter(tenant=execution.tenant, parent=execution_id), limit=MOST_CHILDREN),
    )
    return Picture(
        execution=execution,
        explanation=explanation,
        input=data,
        outcome=outcome,
        attempts=attempts,
        steps=steps,
        history=history,
        children=children,
    )


def from_archive(row: Exported) -> Picture:
    """Return the picture of an archived execution."""
    return Picture(
        execution=row.describe(),
        explanation=explain_archived(row),
        input=row.input(),
        outcome=row.outcome(),
        attempts=row.attempts(),
        steps=row.steps(),
        history=row.history(),
        children=Page(items=(), next_cursor=None),
        archived=True,
    )


def explain_archived(row: Exported) -> Explanation:
    """Explain why an archived execution is not running."""
    state = row.describe().state
    return Explanation(state=state, why=f"It has ended: {state}. It is in the archive.")

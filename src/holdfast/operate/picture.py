"""The picture of an execution: everything that is known about it, read at one moment."""

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

#: A picture holds this many of the newest children; a list has them all.
MOST_CHILDREN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is known about an execution."""

    execution: Execution
    explanation: Explanation
    input: bytes
    outcome: Outcome | None
    attempts: list[Attempt]
    steps: list[Step]
    history: list[Event]
    #: Its newest children.
    children: Page
    #: It is no longer in the store.
    archived: bool = False

    def timeline(self, now: datetime | None = None) -> Timeline:
        """Return its attempts and steps on one scale."""
        moment = now or datetime.now(UTC)
        return timeline.of(self.attempts, self.execution.created_at, moment, self.steps)


async def take(engine: Engine, execution_id: str) -> Picture:
    """Read everything about an execution in the store; raises ExecutionNotFound."""
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
    """Return the picture of an execution that only the archive has."""
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
    """Say why an archived execution is not running."""
    state = row.describe().state
    return Explanation(state=state, why=f"It has ended: {state}. It is in the archive.")

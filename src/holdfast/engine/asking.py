"""Asking for more: an execution that would exceed a budget's hard limit waits for a higher one.

This module makes the waitpoint, for every kind of worker. The answer is checked against a schema
when it arrives. The call that accepts it writes the new limit to the outbox of its partition, so
the limit is raised once even if the process that accepted the answer dies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from holdfast.engine.waitpoints import Waitpoints
from holdfast.model import bounds, names
from holdfast.model.budgets import Charge, ChargeStatus, OnHard
from holdfast.model.executions import Lease
from holdfast.model.ids import new_id
from holdfast.model.states import State
from holdfast.model.waitpoints import Asks, NewWaitpoint
from holdfast.store.store import Store

C = TypeVar("C", bound=Charge)


class Asking:
    """Asks people for a higher limit of a budget, on behalf of executions."""

    def __init__(self, store: Store, waitpoints: Waitpoints) -> None:
        self._store = store
        self._waitpoints = waitpoints

    async def ask(self, execution_id: str, tenant: str, lease: Lease, charge: C, key: str) -> C:
        """Suspend the execution of a refused charge at a waitpoint, and return the charge with it.

        After a denial the question is not asked again until the limit changes: charges are refused.
        """
        asks = Asks(
            budget=str(charge.budget),
            dimension=str(charge.dimension),
            limit=charge.limit or 0,
            current=charge.current or 0,
            key=key,
            fence=lease.fence,
        )
        if await self._store.waitpoints.denied(execution_id, asks):
            return charge
        question = _question(asks, names.seen(asks.budget, tenant))
        suspension = await self._waitpoints.suspend(
            execution_id,
            lease,
            [question],
            {"waitpoint": question.name},
            reason="budget",
            key=f"budget:{new_id()}",
        )
        (waitpoint,) = suspension.waitpoints
        return replace(charge, state=State.SUSPENDED, waitpoint=waitpoint.id)

    async def asked(self, execution_id: str, lease: Lease, key: str) -> Charge | None:
        """Return the answer to a charge that suspended the execution, if this call repeats it."""
        points, _ = await self._store.waitpoints.of(execution_id)
        for point in reversed(points):
            asks = point.asks
            if asks is not None and (asks.key, asks.fence) == (key, lease.fence):
                tenant = await self._store.queries.owner(execution_id)
                return Charge(
                    status=ChargeStatus.HARD_BREACH,
                    budget=names.seen(asks.budget, tenant),
                    dimension=asks.dimension,
                    current=asks.current,
                    limit=asks.limit,
                    on_hard=OnHard.SUSPEND,
                    state=State.SUSPENDED,
                    waitpoint=point.id,
                )
        return None


def _question(asks: Asks, budget: str) -> NewWaitpoint:
    # A budget of another tenant has a slash in its name, which a waitpoint cannot have.
    return NewWaitpoint(
        name=f"budget:{budget.replace('/', ':')}"[: bounds.NAME_CHARS],
        schema=_answers(asks.limit),
        title=f"Budget {budget} has no {asks.dimension} left: {asks.current} of "
        f"{asks.limit}. What is the new limit?",
        asks=asks,
    )


def _answers(limit: int) -> dict[str, Any]:
    """Return the schema of answers: a higher limit, or none."""
    higher = {"type": "integer", "exclusiveMinimum": limit, "maximum": bounds.AMOUNT}
    return {
        "type": ["object", "null"],
        "properties": {"limit": higher, "approved": {}, "comment": {}},
        "additionalProperties": False,
    }

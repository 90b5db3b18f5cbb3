"""What integrations share: charges for requests, questions to people, and their approvals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.model import bounds
from holdfast.store.store import Store
from holdfast.worker.context import Context
from holdfast.worker.outcomes import Denied
from holdfast.worker.waiting import TaskWaitpoint


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person said about a call of a tool."""

    approved: bool
    payload: Any

    @property
    def reason(self) -> str:
        """Why not, if the person said so."""
        return self.payload if isinstance(self.payload, str) else ""


def title(ctx: Context, what: str, details: str) -> str:
    """Return what people are asked, with details unless payloads may be encrypted.

    Titles stay readable in the store. A worker over HTTP does not know about the store.
    """
    store = getattr(ctx.engine, "store", None)
    is_plain = isinstance(store, Store) and store.sealing.sealer is None
    return f"{what} {details}".strip()[: bounds.TITLE_CHARS] if is_plain else what


async def verdict(ctx: Context, waitpoint: TaskWaitpoint[Any]) -> Verdict:
    """Wait until a person approves or denies."""
    try:
        (payload,) = await ctx.wait_for(waitpoint, approvers=1)
    except Denied as denied:
        return Verdict(approved=False, payload=denied.payload)
    return Verdict(approved=True, payload=payload)


async def charge(
    ctx: Context, step: str, *, input_tokens: int, output_tokens: int, budget: str | None
) -> None:
    """Charge a request to the budget of the execution; a step is charged once.

    A charge over a hard limit suspends the attempt here, if the budget says so.
    """
    spent = {
        "requests": 1,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "tokens": input_tokens + output_tokens,
    }
    await ctx.budget.report(spent, key=step, budget=budget)

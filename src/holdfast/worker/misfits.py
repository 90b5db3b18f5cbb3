"""Executions whose code does not fit their journal: they wait for code that does."""

from __future__ import annotations

from holdfast.api import Engine
from holdfast.errors import JournalMismatch
from holdfast.model import bounds
from holdfast.model.executions import Claim
from holdfast.model.ids import new_id
from holdfast.model.waitpoints import NewWaitpoint
from holdfast.worker.waiting import unrecorded_answer

_NAME = "journal:mismatch"
_REASON = "code"


async def suspend(engine: Engine, claim: Claim, error: JournalMismatch) -> None:
    """Suspend an execution until an operator resumes it; its attempt then continues.

    An answer that people gave and that the code has not reached is recorded first: the store keeps
    the answer to the last wait only.
    """
    answer = unrecorded_answer(claim)
    if answer is not None:
        step, result = answer
        await engine.checkpoint(claim.id, claim.lease, step, result)
    problem = str(error.context.get("problem", error.message))
    title = "".join(c if c.isprintable() else " " for c in problem)
    if len(title) > bounds.TITLE_CHARS:
        title = title[: bounds.TITLE_CHARS - 3] + "..."
    question = NewWaitpoint(name=_NAME, title=title, signals=("resume",))
    await engine.waitpoints.suspend(
        claim.id,
        claim.lease,
        [question],
        {"waitpoint": _NAME},
        reason=_REASON,
        key=f"{_REASON}:{new_id()}",
    )

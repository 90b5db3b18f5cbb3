"""Replaying many executions: all that failed and match a filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.cli.terminal import output
from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.executions import Execution
from holdfast.model.listing import Filter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.api import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How each of them is replayed."""

    keep_steps: bool
    from_step: str | None
    reason: str
    #: Only say which.
    dry_run: bool
    #: Only those that failed with an error of this type.
    error: str | None


@dataclass(slots=True)
class Report:
    """What became of them."""

    dry_run: bool
    replayed: list[str] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)


async def replay_failed(engine: Engine, wanted: Filter, how: How) -> Report:
    """Replay what a filter finds, one after the other; a refusal concerns that one only."""
    report = Report(how.dry_run)
    async for execution in _matching(engine, wanted, how.error):
        if how.dry_run:
            report.replayed.append(execution.id)
            continue
        try:
            await engine.replay(
                execution.id,
                keep_steps=how.keep_steps,
                from_step=how.from_step,
                reason=how.reason,
            )
        except HoldfastError as error:
            refusal = {"id": execution.id, "code": error.code, "message": error.message}
            report.refused.append(refusal)
        else:
            report.replayed.append(execution.id)
    return report


async def _matching(
    engine: Engine, wanted: Filter, error_type: str | None
) -> AsyncIterator[Execution]:
    """Return what a filter finds. Pages go by birth, so one that fails again is not met twice."""
    cursor = None
    while True:
        page = await engine.list(wanted, limit=bounds.PAGE_ITEMS, cursor=cursor)
        for execution in page.items:
            if error_type is None or await _error_of(engine, execution.id) == error_type:
                yield execution
        cursor = page.next_cursor
        if cursor is None:
            return


async def _error_of(engine: Engine, execution_id: str) -> str | None:
    """Return the type of its error, which lists do not have."""
    error = (await engine.describe(execution_id)).error or {}
    return error.get("type")


def show(report: Report) -> None:
    """Tell people."""
    for execution_id in report.replayed:
        output.say(f"would replay {execution_id}" if report.dry_run else f"replays {execution_id}")
    for refusal in report.refused:
        output.note(f"{refusal['id']}: {refusal['message']} ({refusal['code']})")
    number = len(report.replayed)
    executions = f"{number} execution{'' if number == 1 else 's'}"
    verb = "would run again" if report.dry_run else "run again" if number != 1 else "runs again"
    refused = f", {len(report.refused)} refused" if report.refused else ""
    output.say(f"{executions} {verb}{refused}")

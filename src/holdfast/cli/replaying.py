"""Replay every failed execution that matches a filter."""

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
    """How to replay each execution."""

    keep_steps: bool
    from_step: str | None
    reason: str
    #: Only list the executions.
    dry_run: bool
    #: Only executions that failed with an error of this type.
    error: str | None


@dataclass(slots=True)
class Report:
    """The executions that were replayed, and those that were refused."""

    dry_run: bool
    replayed: list[str] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)


async def replay_failed(engine: Engine, query: Filter, how: How) -> Report:
    """Replay the matching executions one by one; a refusal does not stop the others."""
    report = Report(how.dry_run)
    async for execution in _matching(engine, query, how.error):
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
    engine: Engine, query: Filter, error_type: str | None
) -> AsyncIterator[Execution]:
    """Return the matching executions. Pages go by birth, so none that fails again comes twice."""
    cursor = None
    while True:
        page = await engine.list(query, limit=bounds.PAGE_ITEMS, cursor=cursor)
        for execution in page.items:
            if error_type is None or await _error_of(engine, execution.id) == error_type:
                yield execution
        cursor = page.next_cursor
        if cursor is None:
            return


async def _error_of(engine: Engine, execution_id: str) -> str | None:
    """Return the type of an execution's error, which lists do not include."""
    error = (await engine.describe(execution_id)).error or {}
    return error.get("type")


def show(report: Report) -> None:
    """Print the report for people."""
    for execution_id in report.replayed:
        output.say(f"would replay {execution_id}" if report.dry_run else f"replayed {execution_id}")
    for refusal in report.refused:
        output.note(f"{refusal['id']}: {refusal['message']} ({refusal['code']})")
    executions = output.count(len(report.replayed), "execution")
    verb = "would be replayed" if report.dry_run else "replayed"
    refused = f", {len(report.refused)} refused" if report.refused else ""
    output.say(f"{executions} {verb}{refused}")

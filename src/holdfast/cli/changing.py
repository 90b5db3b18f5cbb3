"""Change every execution that matches a filter: replay ended ones, resume suspended ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.cli.terminal import opening, output
from holdfast.errors import HoldfastError
from holdfast.model import bounds
from holdfast.model.executions import Execution
from holdfast.model.listing import Filter
from holdfast.model.states import Hold

if TYPE_CHECKING:
    from holdfast.api import Engine

Act = Callable[["Engine", str], Awaitable[object]]
Matches = Callable[["Engine", Execution], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Change:
    """What to do with each execution that matches."""

    #: `replay` or `resume`.
    verb: str
    act: Act
    #: Decides what a list cannot filter.
    matches: Matches
    #: Only list the executions.
    dry_run: bool


@dataclass(slots=True)
class Report:
    """The executions that were changed, and those that were refused."""

    #: `replay` or `resume`.
    verb: str
    #: They were only listed.
    dry_run: bool
    changed: list[str] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)

    @property
    def done(self) -> str:
        """The verb in the past: `replayed`, `resumed`."""
        return f"{self.verb.removesuffix('e')}ed"

    def view(self) -> dict[str, Any]:
        """Return the report as a JSON value."""
        return {"dry_run": self.dry_run, self.done: self.changed, "refused": self.refused}


def run(change: Change, query: Filter, store: str | None, *, as_json: bool) -> None:
    """Change the executions of a list, and print the report."""
    report = opening.ask(store, lambda engine: _run(engine, change, query))
    output.emit(report.view()) if as_json else _show(report)


async def _run(engine: Engine, change: Change, query: Filter) -> Report:
    """Change the matching executions one by one; a refusal does not stop the others."""
    report = Report(change.verb, change.dry_run)
    async for execution in _listed(engine, query):
        if not await change.matches(engine, execution):
            continue
        try:
            if not change.dry_run:
                await change.act(engine, execution.id)
        except HoldfastError as error:
            refusal = {"id": execution.id, "code": error.code, "message": error.message}
            report.refused.append(refusal)
        else:
            report.changed.append(execution.id)
    return report


async def _listed(engine: Engine, query: Filter) -> AsyncIterator[Execution]:
    """Return the executions. Pages go by birth, so none that changes its state comes twice."""
    cursor = None
    while True:
        page = await engine.list(query, limit=bounds.PAGE_ITEMS, cursor=cursor)
        for execution in page.items:
            yield execution
        cursor = page.next_cursor
        if cursor is None:
            return


def has_error(error_type: str | None) -> Matches:
    """Match executions that ended with a type of error, which lists do not include; None: any."""

    async def matches(engine: Engine, execution: Execution) -> bool:
        if error_type is None:
            return True
        error = (await engine.describe(execution.id)).error or {}
        return error.get("type") == error_type

    return matches


async def is_misfit(_engine: Engine, execution: Execution) -> bool:
    """Whether an execution is suspended because its code does not fit its journal."""
    return execution.hold is Hold.CODE


def _show(report: Report) -> None:
    """Print the report for people."""
    for execution_id in report.changed:
        verb = f"would {report.verb}" if report.dry_run else report.done
        output.say(f"{verb} {execution_id}")
    for refusal in report.refused:
        output.note(f"{refusal['id']}: {refusal['message']} ({refusal['code']})")
    executions = output.count(len(report.changed), "execution")
    verb = f"would be {report.done}" if report.dry_run else report.done
    refused = f", {len(report.refused)} refused" if report.refused else ""
    output.say(f"{executions} {verb}{refused}")

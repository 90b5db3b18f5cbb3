"""`holdfast budgets`: limits on the usage of executions: list, create, set, reset, rules."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from holdfast.cli import limits
from holdfast.cli.terminal import inputs, opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption, WhoseOption
from holdfast.errors import InvalidInput
from holdfast.model.budgets import Budget

app: typer.Typer = typer.Typer(cls=Noun)

BudgetId = Annotated[str, typer.Argument(metavar="ID", help="The id of the budget.")]
Hard = Annotated[
    list[str] | None,
    typer.Option(
        "--hard",
        metavar="DIM=N",
        help="A limit that is never exceeded; `DIM=` removes it; repeatable.",
    ),
]
Soft = Annotated[
    list[str] | None,
    typer.Option(
        "--soft",
        metavar="DIM=N",
        help="A limit that is reported when exceeded; `DIM=` removes it; repeatable.",
    ),
]


@app.command()
def ls(
    *,
    tenant: limits.Tenant = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the budgets with their usage."""
    budgets = opening.ask(store, lambda engine: limits.every(engine.budgets.list, tenant))
    if as_json:
        output.emit({"items": budgets})
        return
    rows = [
        (
            budget.id,
            budget.tenant,
            budget.parent,
            _usage(budget),
            budget.waiting or None,
            budget.breaches.hard or None,
            times.ago(budget.next_reset_at) if budget.next_reset_at else None,
        )
        for budget in budgets
    ]
    columns = ("budget", "tenant", "parent", "used of hard", "waiting", "breaches", "reset")
    output.show_table(columns, rows, nothing="no budgets")


def _usage(budget: Budget) -> str:
    parts = []
    for name in sorted({*budget.limits, *budget.usage, *budget.reserved}):
        limit = budget.limits.get(name)
        hard = limit.hard if limit is not None and limit.hard is not None else "any"
        reserved = budget.reserved.get(name, 0)
        plus = f"+{reserved}" if reserved else ""
        parts.append(f"{name} {budget.usage.get(name, 0)}{plus}/{hard}")
    return ", ".join(parts)


@app.command()
def show(
    budget_id: BudgetId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a budget: limits, usage, reservations, waiting executions."""
    budget = opening.ask(store, lambda engine: engine.budgets.get(budget_id, tenant=tenant))
    if as_json:
        output.emit(budget)
        return
    output.say(f"budget      {budget.id}   tenant {budget.tenant}")
    if budget.parent:
        output.say(f"parent      {budget.parent}")
    for name in sorted({*budget.limits, *budget.usage, *budget.reserved}):
        limit = budget.limits.get(name)
        hard, soft = (limit.hard, limit.soft) if limit else (None, None)
        used, reserved = budget.usage.get(name, 0), budget.reserved.get(name, 0)
        over = "   over its soft limit" if name in budget.over_soft else ""
        caps = f"hard {_or_none(hard)}, soft {_or_none(soft)}"
        output.say(f"{name:<12}{used} used, {reserved} reserved; {caps}{over}")
    output.say(f"on hard     {budget.on_hard}")
    if budget.next_reset_at:
        output.say(f"reset       {times.stamp(budget.next_reset_at)}, every {budget.reset_ms} ms")
    output.say(f"waiting     {output.count(budget.waiting, 'execution')}")
    output.say(f"breaches    {budget.breaches.hard} hard, {budget.breaches.soft} soft")


def _or_none(value: int | None) -> str:
    return "none" if value is None else str(value)


@app.command()
def create(
    budget_id: BudgetId,
    *,
    hard: Hard = None,
    soft: Soft = None,
    tenant: WhoseOption = "default",
    parent: Annotated[
        str | None, typer.Option("--parent", help="Usage also counts against this budget.")
    ] = None,
    reset: Annotated[
        str | None, typer.Option("--reset", help="Reset the usage this often: 1h, 1d.")
    ] = None,
    on_hard: Annotated[
        str, typer.Option("--on-hard", help="What a hard breach does: refuse, suspend or cancel.")
    ] = "refuse",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a budget. Safe to repeat."""
    amounts = _limits(hard, soft)
    reset_ms = inputs.optional_ms("reset", reset)
    budget, created = opening.ask(
        store,
        lambda engine: engine.budgets.create(
            budget_id,
            limits=amounts,
            tenant=tenant,
            parent=parent,
            reset_ms=reset_ms,
            on_hard=on_hard,
        ),
        create=True,
    )
    limits.say_created("budget", budget, is_new=created, as_json=as_json)


@app.command("set")
def set_(
    budget_id: BudgetId,
    *,
    hard: Hard = None,
    soft: Soft = None,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change limits. Waiting executions continue if the budget now allows it."""
    amounts = _limits(hard, soft)
    budget = opening.ask(
        store, lambda engine: engine.budgets.set(budget_id, amounts, tenant=tenant)
    )
    _changed(budget, as_json=as_json)


@app.command()
def reset(
    budget_id: BudgetId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reset the usage to zero."""
    budget = opening.ask(store, lambda engine: engine.budgets.reset(budget_id, tenant=tenant))
    _changed(budget, as_json=as_json)


def _changed(budget: Budget, *, as_json: bool) -> None:
    output.answer(budget, f"budget {budget.id}: {_usage(budget)}", as_json=as_json)


@app.command()
def breaches(
    budget_id: BudgetId,
    *,
    tenant: WhoseOption = "default",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the most recent breaches, oldest first."""
    breaches = opening.ask(store, lambda engine: engine.budgets.breaches(budget_id, tenant=tenant))
    if as_json:
        output.emit({"items": breaches})
        return
    rows = [
        (
            times.stamp(breach.at),
            breach.kind,
            breach.dimension,
            breach.current,
            breach.limit,
            breach.execution,
        )
        for breach in breaches
    ]
    columns = ("at", "kind", "dimension", "current", "limit", "execution")
    output.show_table(columns, rows, nothing="no breaches")


def _limits(hard: list[str] | None, soft: list[str] | None) -> dict[str, dict[str, Any]]:
    limits: dict[str, dict[str, Any]] = {}
    for kind, texts in (("hard", hard), ("soft", soft)):
        for name, text in inputs.pairs(kind, texts or []).items():
            limits.setdefault(name, {})[kind] = _amount(kind, text)
    return limits


def _amount(kind: str, text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal():
        raise InvalidInput(f"{kind}: {text!r} is not a whole number of at least 0", field=kind)
    return int(text)


limits.add_rules(app, "budget")

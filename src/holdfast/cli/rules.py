"""The commands `attach`, `detach` and `rules`, which budgets and quotas share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.api import Engine, Rules

LimitId = Annotated[str, typer.Argument(metavar="ID", help="The budget or quota: ID or TENANT/ID.")]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Executions of this tenant.")]
Lane = Annotated[str | None, typer.Option("--lane", help="Executions on this lane.")]
Kind = Annotated[str | None, typer.Option("--kind", help="Executions of this task.")]
Tag = Annotated[
    str | None,
    typer.Option(
        "--tag",
        metavar="NAME[=VALUE]",
        help="Executions with this tag; a name alone counts each value separately.",
    ),
]


def add_commands(app: typer.Typer, limit: Literal["budget", "quota"]) -> None:
    """Add the rule commands to the app of a limit."""

    @app.command(help=f"Apply a {limit} to new executions of a tenant, lane, task or tag.")
    def attach(
        limit_id: LimitId,
        *,
        tenant: Tenant = None,
        lane: Lane = None,
        kind: Kind = None,
        tag: Tag = None,
        store: StoreOption = None,
        as_json: JsonOption = False,
    ) -> None:
        subject = _subject(tenant=tenant, lane=lane, kind=kind, tag=tag)
        opening.ask(store, lambda engine: _rules(engine, limit).attach(limit_id, **subject))
        _say(limit, limit_id, subject, "is attached to", as_json=as_json)

    @app.command(help="Remove a rule; executions submitted under it keep the limit.")
    def detach(
        limit_id: LimitId,
        *,
        tenant: Tenant = None,
        lane: Lane = None,
        kind: Kind = None,
        tag: Tag = None,
        store: StoreOption = None,
        as_json: JsonOption = False,
    ) -> None:
        subject = _subject(tenant=tenant, lane=lane, kind=kind, tag=tag)
        opening.ask(store, lambda engine: _rules(engine, limit).detach(limit_id, **subject))
        _say(limit, limit_id, subject, "is no longer attached to", as_json=as_json)

    @app.command(help=f"List the rules that apply a {limit} to new executions.")
    def rules(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
        attached = opening.ask(store, lambda engine: _rules(engine, limit).list())
        if as_json:
            output.emit({"items": attached})
            return
        rows = [(rule.id, rule.subject, rule.value) for rule in attached]
        output.show_table((limit, "for", "value"), rows, nothing="no rules")


def _rules(engine: Engine, limit: str) -> Rules:
    return engine.budgets.rules if limit == "budget" else engine.quotas.rules


def _subject(**options: str | None) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}


def _say(limit: str, limit_id: str, subject: dict[str, str], what: str, *, as_json: bool) -> None:
    ((word, value),) = subject.items()
    output.answer(
        {"limit": limit, "id": limit_id, "subject": word, "value": value},
        f"{limit} {limit_id} {what} {word} {value}",
        as_json=as_json,
    )

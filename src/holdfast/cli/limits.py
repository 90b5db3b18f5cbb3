"""What the commands of budgets and quotas share: lists, creation, rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Protocol, TypeVar

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.api import Engine, Rules
    from holdfast.model.budgets import Budget
    from holdfast.model.quotas import Quota

T = TypeVar("T")

LimitId = Annotated[str, typer.Argument(metavar="ID", help="The budget or quota: ID or TENANT/ID.")]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Only those of this tenant.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Executions of this tenant.")]
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


_PAGE = 1_000


class ListPage(Protocol[T]):
    """The `list` of budgets or quotas."""

    async def __call__(
        self, tenant: str | None = None, *, limit: int = ..., cursor: str | None = None
    ) -> tuple[list[T], str | None]:
        """Return a page and the cursor of the next one."""


async def every(list_page: ListPage[T], tenant: str | None) -> list[T]:
    """Return the budgets or quotas of a tenant, or of all tenants."""
    items, cursor = await list_page(tenant, limit=_PAGE)
    while cursor is not None:
        more, cursor = await list_page(tenant, limit=_PAGE, cursor=cursor)
        items += more
    return items


def say_created(noun: str, limit: Budget | Quota, *, is_new: bool, as_json: bool) -> None:
    """Print that a budget or quota is created, or already exists."""
    text = f"{noun} {limit.id} {'is created' if is_new else 'already exists'}"
    output.answer(limit, text, as_json=as_json)


def add_rules(app: typer.Typer, limit: Literal["budget", "quota"]) -> None:
    """Add the commands `attach`, `detach` and `rules` to the app of a limit."""

    @app.command(help=f"Apply a {limit} to new executions of a tenant, lane, task or tag.")
    def attach(
        limit_id: LimitId,
        *,
        tenant: OfTenant = None,
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
        tenant: OfTenant = None,
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

"""What the commands of budgets and quotas have in common: lists, new ones, rules."""

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

LimitId = Annotated[
    str, typer.Argument(metavar="ID", help="The budget or quota: ID, or TENANT/ID.")
]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Executions of this tenant.")]
Lane = Annotated[str | None, typer.Option("--lane", help="Executions on this lane.")]
Kind = Annotated[str | None, typer.Option("--kind", help="Executions of this task.")]
Tag = Annotated[
    str | None,
    typer.Option("--tag", metavar="NAME[=VALUE]", help="With this tag; a name: each value apart."),
]


_PAGE = 1_000


class ListPage(Protocol[T]):
    """Lists budgets or quotas, as their nouns do."""

    async def __call__(
        self, tenant: str | None = None, *, limit: int = ..., cursor: str | None = None
    ) -> tuple[list[T], str | None]:
        """Return a page and where the next one starts."""


async def every(list_page: ListPage[T], tenant: str | None) -> list[T]:
    """Return the budgets or quotas of a tenant, or of all, page by page."""
    items, cursor = await list_page(tenant, limit=_PAGE)
    while cursor is not None:
        more, cursor = await list_page(tenant, limit=_PAGE, cursor=cursor)
        items += more
    return items


def say_created(noun: str, limit: Budget | Quota, *, is_new: bool, as_json: bool) -> None:
    """Say that there is a budget or quota now, or was before."""
    text = f"{noun} {limit.id} {'is created' if is_new else 'is there already'}"
    output.answer(limit, text, as_json=as_json)


def add_rules(app: typer.Typer, limit: Literal["budget", "quota"]) -> None:
    """Give a noun its rules."""

    @app.command(help=f"Have new executions of a tenant, lane, kind or tag subject to a {limit}.")
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

    @app.command(help="Take a rule back; executions submitted under it keep the limit.")
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

    @app.command(help=f"List which new executions become subject to which {limit}.")
    def rules(*, store: StoreOption = None, as_json: JsonOption = False) -> None:
        found = opening.ask(store, lambda engine: _rules(engine, limit).list())
        if as_json:
            output.emit({"items": found})
            return
        rows = [(rule.id, rule.subject, rule.value) for rule in found]
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

"""`holdfast redactions`: parts of payloads that API keys do not see: list, add, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal import opening, output
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.model.sight import RedactionRule

app: typer.Typer = typer.Typer(cls=Noun)

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="Fields with dots between them; * is any field or item, ** any depth.",
    ),
]
Kind = Annotated[
    str,
    typer.Option("--kind", help="The task, or the start of names with a * after it; * is all."),
]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="The tenant.", show_default="all tenants")
]


@app.command()
def ls(
    *,
    tenant: Tenant = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the rules that hold for a tenant, or all rules."""
    rules = opening.ask(store, lambda engine: engine.redactions.list(tenant=tenant))
    if as_json:
        output.emit({"items": rules})
        return
    rows = [(rule.path, rule.kind, rule.tenant or "all") for rule in rules]
    output.show_table(("path", "kind", "tenant"), rows, nothing="no redactions")


@app.command()
def add(
    path: PathArgument,
    *,
    kind: Kind = "*",
    tenant: Tenant = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Redact a part of payloads in the answers of servers; takes effect within 5 s."""
    rule = opening.ask(
        store, lambda engine: engine.redactions.add(path, kind=kind, tenant=tenant), create=True
    )
    output.answer(_shown(rule), f"{path} of {_whose(rule)} is redacted", as_json=as_json)


@app.command()
def rm(
    path: PathArgument,
    *,
    kind: Kind = "*",
    tenant: Tenant = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a rule."""
    opening.ask(store, lambda engine: engine.redactions.remove(path, kind=kind, tenant=tenant))
    answer = {"path": path, "kind": kind, "tenant": tenant, "removed": True}
    output.answer(answer, f"{path} is shown again", as_json=as_json)


def _whose(rule: RedactionRule) -> str:
    kind = "every task" if rule.kind == "*" else rule.kind
    return f"{kind}, tenant {rule.tenant}" if rule.tenant else f"{kind}, all tenants"


def _shown(rule: RedactionRule) -> dict[str, str | None]:
    return {"path": rule.path, "kind": rule.kind, "tenant": rule.tenant}

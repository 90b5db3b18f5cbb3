"""The filters of `holdfast ls` and `holdfast bulk`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import typer

from holdfast.cli.terminal import inputs
from holdfast.cli.terminal.bundles import Bundle
from holdfast.errors import InvalidInput
from holdfast.model.filter_words import IDS, filter_of
from holdfast.model.listing import Filter


@dataclass(frozen=True, kw_only=True)
class Matching(Bundle):
    """Which executions."""

    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only executions of this tenant.")
    ] = None
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE,...",
            help="Only executions in this state, or in one of several.",
        ),
    ] = None
    lane: Annotated[str | None, typer.Option("--lane", help="Only executions on this lane.")] = None
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only executions of this task; mail.* for all that start so."),
    ] = None
    error: Annotated[
        str | None,
        typer.Option(
            "--error", metavar="TYPE", help="Only those that failed with this type of error."
        ),
    ] = None
    id_prefix: Annotated[
        str | None, typer.Option("--id", metavar="START", help="Only ids that start so.")
    ] = None
    text: Annotated[
        str | None, typer.Option("--text", help="Only executions with this text in a tag.")
    ] = None
    tag: Annotated[
        str | None,
        typer.Option("--tag", metavar="NAME=VALUE", help="Only executions with this tag."),
    ] = None
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="ID", help="Only members of this graph.")
    ] = None
    parent: Annotated[
        str | None, typer.Option("--parent", metavar="ID", help="Only children of this execution.")
    ] = None
    since: Annotated[
        str | None,
        typer.Option("--since", help="Created at or after this time: 2h, 2026-01-31T12:00."),
    ] = None
    until: Annotated[str | None, typer.Option("--until", help="Created before this time.")] = None

    @property
    def filter(self) -> Filter:
        """The filter."""
        kind = self.kind or ""
        is_prefix = kind.endswith("*")
        words = {
            **{name: getattr(self, name) for name in ("state", "lane", "text", *IDS)},
            "kind": None if is_prefix else self.kind,
            "kind_prefix": kind.removesuffix("*") or None if is_prefix else None,
            "error_type": self.error,
            "since": inputs.moment("since", self.since),
            "until": inputs.moment("until", self.until),
        }
        try:
            return replace(filter_of(words, self.tenant), tag=_tag(self.tag))
        except InvalidInput as error:
            if error.context["field"] != "state":
                raise
            raise typer.BadParameter(str(error), param_hint="'--state'") from None


def _tag(text: str | None) -> tuple[str, str] | None:
    """Return a tag; its name may have a colon, which separates it from the value elsewhere."""
    if text is None:
        return None
    ((name, value),) = inputs.pairs("tag", [text]).items()
    return name, value

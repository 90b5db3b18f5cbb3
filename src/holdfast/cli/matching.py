"""The filters of `holdfast ls` and `holdfast bulk`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from holdfast.cli.terminal import inputs
from holdfast.cli.terminal.bundles import Bundle
from holdfast.model.listing import Filter
from holdfast.model.states import State


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
        return Filter(
            tenant=self.tenant,
            states=_states(self.state),
            lane=self.lane,
            **_kind(self.kind),
            error_type=self.error,
            id_prefix=self.id_prefix,
            text=self.text,
            tag=_tag(self.tag),
            graph=self.graph,
            parent=self.parent,
            since=inputs.moment("since", self.since),
            until=inputs.moment("until", self.until),
        )


def _kind(text: str | None) -> dict[str, Any]:
    """Return the filter for a task, or for all tasks that start so: `mail.*`."""
    if text is None or not text.endswith("*"):
        return {"kind": text}
    return {"kind_prefix": text.removesuffix("*") or None}


def _states(text: str | None) -> tuple[State, ...]:
    try:
        return tuple(State(word) for word in inputs.names([] if text is None else [text]))
    except ValueError:
        message = f"{text!r} is not one of {', '.join(State)}."
        raise typer.BadParameter(message, param_hint="'--state'") from None


def _tag(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    ((name, value),) = inputs.pairs("tag", [text]).items()
    return name, value

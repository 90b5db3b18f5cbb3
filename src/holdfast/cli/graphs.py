"""`holdfast graphs`: executions that depend on each other: list, show, cancel, replay."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from holdfast.cli import drawing, history
from holdfast.cli.terminal import opening, output, times
from holdfast.cli.terminal.groups import Noun
from holdfast.cli.terminal.options import JsonOption, Reason, StoreOption
from holdfast.model.graphs import CancelPolicy, GraphState, GraphView
from holdfast.operate import layout

app: typer.Typer = typer.Typer(cls=Noun)

GraphId = Annotated[str, typer.Argument(metavar="ID", help="The id of the graph.")]

_COLUMNS = ("id", "state", "members", "open", "failures", "tenant", "created", "took")
_EVENTS = 20


@app.command()
def ls(
    *,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Only graphs of this tenant.")
    ] = None,
    state: Annotated[
        GraphState | None, typer.Option("--state", help="Only graphs in this state.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The size of a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Continue from the cursor of a page.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List graphs, newest first."""
    page = opening.ask(
        store,
        lambda engine: engine.graphs.list(tenant=tenant, state=state, limit=limit, cursor=cursor),
    )
    if as_json:
        output.emit({"items": page.items, "next_cursor": page.next_cursor})
        return
    rows = [
        (
            graph.id,
            graph.state,
            graph.size,
            graph.open,
            graph.failures,
            graph.tenant,
            times.ago(graph.created_at),
            times.between(graph.created_at, graph.completed_at) if graph.completed_at else None,
        )
        for graph in page.items
    ]
    output.show_table(_COLUMNS, rows, nothing="no graphs")
    if page.next_cursor is not None:
        output.note(f"more: --cursor {page.next_cursor}")


@app.command()
def show(
    graph_id: GraphId,
    *,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print the graph as a Mermaid flowchart.")
    ] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a graph with the states of its members."""
    view = opening.ask(store, lambda engine: engine.graphs.describe(graph_id))
    if as_json:
        output.emit(
            {
                "graph": view.graph,
                "members": view.members,
                "edges": view.edges,
                "history": view.events,
            }
        )
    elif mermaid:
        for line in layout.mermaid(view):
            output.say(line)
    else:
        _print(view)


def _print(view: GraphView) -> None:
    graph = view.graph
    counts = Counter(member.state for member in view.members.values())
    shown = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
    facts: list[tuple[str, str]] = [
        ("graph", f"{graph.id}   tenant {graph.tenant}   version {graph.version}"),
        ("state", graph.state if graph.reason is None else f"{graph.state}: {graph.reason}"),
        ("members", f"{graph.size:,}: {shown}"),
        ("created", f"{times.stamp(graph.created_at)} ({times.ago(graph.created_at)})"),
    ]
    if graph.parent is not None:
        facts.append(("parent", f"{graph.parent}   when it ends: {graph.on_parent_end}"))
    for name, moment in (("ended", graph.completed_at), ("deadline", graph.deadline_at)):
        if moment is not None:
            facts.append((name, f"{times.stamp(moment)} ({times.ago(moment)})"))
    for name, value in facts:
        output.say(f"{name:<10}{value}")
    output.say("")
    for line in drawing.lines(view):
        output.say(line)
    output.say("\nHistory")
    for event in view.events[-_EVENTS:]:
        output.say(history.line(event))


@app.command()
def cancel(
    graph_id: GraphId,
    *,
    policy: Annotated[
        CancelPolicy,
        typer.Option(
            "--policy", help="Which members to cancel: all, those that have not started, or none."
        ),
    ] = CancelPolicy.ALL,
    wait: Annotated[
        float | None,
        typer.Option(
            "--wait", help="The longest wait for the cancelled members to end, in seconds."
        ),
    ] = None,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel a graph."""
    answer = opening.ask(
        store,
        lambda engine: engine.graphs.cancel(graph_id, policy=policy, reason=reason, wait_s=wait),
        maintenance=wait is not None,
    )
    if as_json:
        done = {"state": answer.state, "cancelled": answer.cancelled, "failed": answer.failed}
        output.emit({"id": graph_id, **done})
        return
    output.say(f"cancelled {graph_id}: {answer.cancelled} members ended so far")
    for execution_id in answer.failed:
        output.say(f"not ended: {execution_id}")


@app.command()
def replay(
    graph_id: GraphId,
    *,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the failed members of a graph again, and those skipped because of them."""
    opening.ask(store, lambda engine: engine.graphs.replay(graph_id, reason=reason))
    output.answer(
        {"id": graph_id, "state": GraphState.RUNNING}, f"replayed {graph_id}", as_json=as_json
    )

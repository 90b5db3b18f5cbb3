"""Commands on one execution: cancel, replay, prioritize, revoke, explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived, changing
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import (
    DryRun,
    ErrorType,
    ExecutionId,
    JsonOption,
    OfKind,
    OfTenant,
    Reason,
    Since,
    StoreOption,
)
from holdfast.errors import InvalidInput
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.operate.picture import explain_archived

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.explanations import Explanation


def cancel(
    execution_id: ExecutionId,
    *,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cancel an execution that has not ended; its worker is notified at its next heartbeat."""
    opening.ask(store, lambda engine: engine.cancel(execution_id, reason))
    output.answer(
        {"id": execution_id, "state": "cancelled"}, f"cancelled {execution_id}", as_json=as_json
    )


def replay(
    execution_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The id of the execution.")
    ] = None,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Short for --state failed.")] = False,
    state: Annotated[
        State | None,
        typer.Option("--state", help="Replay all executions in this state that match the filters."),
    ] = None,
    kind: OfKind = None,
    tenant: OfTenant = None,
    error: ErrorType = None,
    since: Since = None,
    dry_run: DryRun = False,
    from_step: Annotated[
        str | None, typer.Option("--from-step", help="Discard this step and all later ones.")
    ] = None,
    keep_steps: Annotated[
        bool, typer.Option("--keep-steps", help="Keep all steps: continue where it failed.")
    ] = False,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run ended executions again, from the beginning by default."""
    state = State.FAILED if failed and state is None else state
    if (state is None) == (execution_id is None):
        raise InvalidInput("replay: give the ID of an execution, or --state", field="ID")

    async def again(engine: Engine, ended: str) -> State:
        return await engine.replay(ended, keep_steps=keep_steps, from_step=from_step, reason=reason)

    if execution_id is None:
        query = Filter(state=state, kind=kind, tenant=tenant, since=inputs.moment("since", since))
        changing.run(
            changing.Change("replay", again, changing.has_error(error), dry_run=dry_run),
            *(query, store),
            as_json=as_json,
        )
        return
    if dry_run or any((kind, tenant, error, since)):
        raise InvalidInput("replay: --dry-run and filters need --state", field="state")

    reached = opening.ask(store, lambda engine: again(engine, execution_id))
    done = {"id": execution_id, "state": reached}
    output.answer(done, f"replayed {execution_id}: it is {reached}", as_json=as_json)


def prioritize(
    execution_id: ExecutionId,
    priority: Annotated[int, typer.Argument(metavar="N", help="-1000 to 1000; higher is sooner.")],
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the priority of an execution; one point equals a minute of waiting."""
    previous = opening.ask(store, lambda engine: engine.prioritize(execution_id, priority))
    done = {"id": execution_id, "priority": priority, "previous": previous}
    output.answer(done, f"priority of {execution_id}: {previous} -> {priority}", as_json=as_json)


def revoke(
    execution_id: ExecutionId,
    *,
    reason: Reason = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a running execution from its worker; another worker can claim it at once."""
    opening.ask(store, lambda engine: engine.revoke_lease(execution_id, reason))
    output.answer({"id": execution_id}, f"revoked the lease of {execution_id}", as_json=as_json)


def explain(
    execution_id: ExecutionId,
    *,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain why an execution is not running."""

    async def work(engine: Engine) -> Explanation:
        return await archived.either(engine, execution_id, engine.explain, explain_archived)

    explanation = opening.ask(store, work)
    if as_json:
        output.emit(
            {
                "id": execution_id,
                "state": explanation.state,
                "why": explanation.why,
                "holds": explanation.holds,
            }
        )
    else:
        output.say(explanation.why)

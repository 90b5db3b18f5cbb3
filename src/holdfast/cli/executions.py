"""Commands on one execution: cancel, replay, prioritize, revoke, explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import archived, replaying
from holdfast.cli.terminal import inputs, opening, output
from holdfast.cli.terminal.options import ExecutionId, JsonOption, Reason, StoreOption
from holdfast.errors import InvalidInput
from holdfast.model.listing import Filter
from holdfast.model.states import State
from holdfast.operate.picture import explain_archived

if TYPE_CHECKING:
    from holdfast.api import Engine
    from holdfast.model.explanations import Explanation


OfKind = Annotated[str | None, typer.Option("--kind", help="Only executions of this task.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only executions of this tenant.")]
ErrorType = Annotated[
    str | None,
    typer.Option("--error", metavar="TYPE", help="Only executions with this type of error."),
]
Since = Annotated[
    str | None, typer.Option("--since", help="Created at or after this time: 2h, 2026-01-31T12:00.")
]


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
    failed: Annotated[
        bool, typer.Option("--failed", help="Replay all failed executions that match the filters.")
    ] = False,
    kind: OfKind = None,
    tenant: OfTenant = None,
    error: ErrorType = None,
    since: Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the executions.")] = False,
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
    filters = {"kind": kind, "tenant": tenant, "error": error, "since": since}
    if failed == (execution_id is not None):
        raise InvalidInput("replay: give the ID of an execution, or --failed", field="ID")
    if execution_id is None:
        how = replaying.How(
            keep_steps=keep_steps, from_step=from_step, reason=reason, dry_run=dry_run, error=error
        )
        query = Filter(
            state=State.FAILED, kind=kind, tenant=tenant, since=inputs.moment("since", since)
        )
        report = opening.ask(store, lambda engine: replaying.replay_failed(engine, query, how))
        output.emit(report) if as_json else replaying.show(report)
        return
    if dry_run or any(filters.values()):
        raise InvalidInput("replay: --dry-run and filters need --failed", field="failed")

    async def work(engine: Engine) -> str:
        return await engine.replay(
            execution_id, keep_steps=keep_steps, from_step=from_step, reason=reason
        )

    state = opening.ask(store, work)
    done = {"id": execution_id, "state": state}
    output.answer(done, f"replayed {execution_id}: it is {state}", as_json=as_json)


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
